"""Figures of our questions, in typst."""

from __future__ import annotations

from typing import Final

DRAWINGS: Final = """
#let pen = (thickness: .7pt)
#let triangle-figure = box(width: 3.6cm, height: 2.3cm, {
  place(polygon(stroke: .8pt, (.5cm, 2cm), (3.1cm, 2cm), (1.3cm, .3cm)))
  place(line(start: (1.3cm, .3cm), end: (1.3cm, 2cm), stroke: (thickness: .6pt, dash: "dashed")))
  place(dx: 1.2cm, dy: -.05cm, text(8pt)[_A_])
  place(dx: .2cm, dy: 1.9cm, text(8pt)[_B_])
  place(dx: 3.2cm, dy: 1.9cm, text(8pt)[_C_])
})
#let curve-figure = box(width: 4.2cm, height: 3cm, {
  place(line(start: (.2cm, 2cm), end: (4cm, 2cm), stroke: pen))
  place(line(start: (.7cm, 2.9cm), end: (.7cm, .1cm), stroke: pen))
  place(curve(stroke: 1pt, curve.move((1cm, .3cm)), curve.quad((2.2cm, 4.6cm), (3.5cm, .3cm))))
  place(dx: 3.85cm, dy: 2.05cm, text(8pt)[_x_])
  place(dx: .45cm, dy: .05cm, text(8pt)[_y_])
  place(dx: .45cm, dy: 2.05cm, text(8pt)[_O_])
})
#let circuit-figure = box(width: 4.4cm, height: 2.6cm, {
  place(dx: .4cm, dy: .6cm, rect(width: 3.6cm, height: 1.6cm, stroke: .8pt))
  for x in (.9cm, 2.5cm) { place(dx: x, dy: .45cm, rect(width: .9cm, height: .3cm, stroke: .8pt, fill: white)) }
  place(dx: 1.9cm, dy: 1.9cm, circle(radius: .28cm, stroke: .8pt, fill: white, align(center + horizon, text(8pt)[A])))
  place(dx: 1.2cm, dy: .02cm, text(8pt)[_R_#sub[1]])
  place(dx: 2.8cm, dy: .02cm, text(8pt)[_R_#sub[2]])
})
#let bars-figure = box(width: 4.8cm, height: 3cm, {
  place(line(start: (.6cm, 2.5cm), end: (4.6cm, 2.5cm), stroke: pen))
  place(line(start: (.6cm, 2.5cm), end: (.6cm, .1cm), stroke: pen))
  for (i, h) in (1.1cm, 2cm, .7cm, 1.5cm).enumerate() {
    place(dx: .9cm + i * .9cm, dy: 2.5cm - h, rect(width: .55cm, height: h, fill: gray, stroke: .5pt))
    place(dx: 1.05cm + i * .9cm, dy: 2.6cm, text(7pt, str(i + 1)))
  }
  for i in range(1, 4) { place(dx: .2cm, dy: 2.4cm - i * .7cm, text(7pt, str(i * 20))) }
})
#let pendulum-figure = box(width: 3cm, height: 3cm, {
  place(dx: .5cm, dy: .2cm, rect(width: 2cm, height: .15cm, fill: gray, stroke: .5pt))
  place(line(start: (1.5cm, .35cm), end: (2.2cm, 2.3cm), stroke: .7pt))
  place(line(start: (1.5cm, .35cm), end: (1.5cm, 2.4cm), stroke: (thickness: .5pt, dash: "dashed")))
  place(dx: 2.05cm, dy: 2.2cm, circle(radius: .2cm, fill: black))
  place(dx: 2.1cm, dy: 1cm, text(8pt)[_l_])
})
#let answer-line = block(width: 100%, height: 1.3em, stroke: (bottom: (thickness: .5pt, dash: "dotted")))
#let marker(id, kind, side, pos, w) = [
  #metadata((id: id, kind: kind, side: side, page: pos.page, x: pos.x, y: pos.y, w: w))<mark>
]
#let piece(id, kind, body) = layout(size => block(breakable: false, width: 100%, {
  place(top + left, context marker(id, kind, "top", here().position(), size.width))
  body
  place(bottom + left, context marker(id, kind, "bottom", here().position(), size.width))
}))
#let figure-of(id, body) = layout(size => context {
  let m = measure(body)
  block(breakable: false, width: m.width, height: m.height, {
    place(top + left, context marker(id, "figure", "top", here().position(), m.width))
    body
    place(bottom + left, context marker(id, "figure", "bottom", here().position(), m.width))
  })
})
#let blank = box(width: 3.2em, height: .8em, stroke: (bottom: .5pt))
#let boxed(n) = box(stroke: .7pt, inset: (x: 3pt, y: 2pt), outset: (y: 1pt), n)
#let inverse(n) = box(fill: black, inset: (x: 3pt, y: 2pt), outset: (y: 1pt), text(fill: white, weight: "bold", n))
#let hanging(n, w, body) = grid(columns: (w, 1fr), n, body)
#let cells(rows) = table(columns: rows.first().len(), stroke: .5pt, inset: 4pt, align: center, ..rows.flatten())
#let unseen(body) = place(text(fill: white, size: 6pt, body))
"""
"""Shared by all layouts: the figures, and `piece`, which marks where each piece of a question comes to stand."""
