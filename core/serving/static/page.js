/* What the pages are made of: nodes and texts.
   Contract: texts become text nodes, in which what would hide or reorder is shown (`showing` says what that is); only
   `raw` takes HTML, which must be the server's own. */
let unseen = /$^/u;
export const showing = pattern => { unseen = new RegExp(pattern, "gu"); };
const visible = text => text.replace(unseen, sign => `[U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
export const isBroken = text => /\p{Cs}/u.test(text); // half a character, which no file and no address can hold

export function h(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, name === "title" ? visible(value) : value);
  }
  node.append(...children.flat().filter(child => child != null && child !== false).map(child => typeof child === "string" ? visible(child) : child));
  return node;
}
export const raw = (html, attributes) => { const node = h("div", attributes); node.innerHTML = html; return node; };

export const uid = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");
