// Shows the page that the address names; what was there before stays until the new one is whole.
"use strict";
(() => {
  const { h, t, link, address, speak } = livek12;
  const NAV = ["board", "heat", "plots", "papers", "site"];
  const OF = { __proto__: null, graded: "heat", question: "papers", paper: "papers", model: "board" };
  const main = document.getElementById("main"), nav = document.getElementById("nav"), languages = document.getElementById("languages");
  let turn = 0, first = true;

  const frame = (page, said) => {
    document.documentElement.lang = speak();
    nav.setAttribute("aria-label", t("pages"));
    nav.replaceChildren(...NAV.map((name) => h("a", { href: link(name, said.task ? { task: said.task } : {}), "aria-current": (OF[page] || page) === name ? "page" : null }, t(name))));
    languages.replaceChildren(...Object.entries(LANGUAGES).map(([code, name]) => h("button", { type: "button", lang: code, "aria-pressed": String(code === speak()), onclick: () => { speak(code); keep(code); const { page: now, said: all } = address(); delete all.lang; livek12.go(now, all); } }, name)));
    document.querySelector("[data-skip]").textContent = t("skip");
    document.querySelector("[data-made]").textContent = t("made_by");
  };
  const keep = (code) => { try { localStorage.setItem("livek12-language", code); } catch { /* a page from disk may have no store */ } };
  const kept = () => { try { return localStorage.getItem("livek12-language"); } catch { return null; } };

  const show = async () => {
    const { page, said } = address(), mine = (turn += 1);
    speak(Object.hasOwn(LANGUAGES, said.lang ?? "") ? said.lang : kept() && first ? kept() : said.lang === undefined && !first ? "en" : speak());
    const asked = livek12.all([said]);
    delete asked.lang;
    frame(page, asked);
    let made;
    try { made = await (livek12.pages[page] || (() => [h("h1", {}, "livek12"), h("p", {}, t("missing"))]))(asked); } catch (error) { made = [h("h1", {}, "livek12"), h("p", {}, `${t("missing")} (${error.message})`)]; }
    if (mine !== turn) return;
    main.replaceChildren(...[made].flat(9).filter(Boolean));
    document.title = `${main.querySelector("h1").textContent}${livek12.site().title ? ` · ${livek12.site().title}` : ""}`;
    for (const box of main.querySelectorAll(".scroll:not([tabindex])")) box.tabIndex = 0;
    if (!first) { window.scrollTo(0, 0); }
    first = false;
    document.body.dataset.ready = String(mine);
  };
  document.querySelector("[data-skip]").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
  window.addEventListener("hashchange", show);
  show();
})();
