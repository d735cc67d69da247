// Which questions a reader chose on the leaderboard, and what every run got on them.
"use strict";
livek12.filters = (() => {
  const NONE = "(none)";
  // Where an index entry says the value of an axis; the axes and their values come with each benchmark.
  const PLACE = new Map([["question_type", "type"], ["subset", "subsets"], ["macro_subject", "field"]]);
  const AXES = ["release", "language", "modality", "subset", "subject", "macro_subject", "question_type", "difficulty", "year"];

  // By axis the values that the questions of these benchmarks have.
  const offered = (tasks) => {
    const found = new Map();
    for (const axis of AXES) {
      const values = new Set(tasks.flatMap((task) => livek12.site().tasks[task].axes.filter(([name]) => name === axis).flatMap(([, all]) => all)));
      if (values.size > 1) found.set(axis, [...values].sort((a, b) => (a === NONE) - (b === NONE) || a.localeCompare(b, "en", { numeric: true })));
    }
    return found;
  };
  // By axis the value that the address names; an older address names one axis and its value.
  const chosen = (said) => new Map([...AXES.map((axis) => [axis, said[axis]]), [said.axis, said.value]].filter(([axis, value]) => AXES.includes(axis) && value));
  const valuesOf = (entry, axis) => {
    const values = [entry[PLACE.get(axis) || axis]].flat().filter((value) => value !== null && value !== undefined && value !== "");
    return values.length ? values.map(String) : [NONE];
  };

  // The chosen questions of a benchmark in the order of scoring, and each run's answers to them.
  const pick = async (task, wanted) => {
    const about = livek12.site().tasks[task];
    const [index, scores] = await Promise.all([livek12.loadAll(about.index), livek12.loadAll(about.scores)]);
    const questions = Object.values(index).filter((entry) => [...wanted].every(([axis, value]) => valuesOf(entry, axis).includes(value))).sort((a, b) => a.at - b.at);
    const runs = new Map([...livek12.runs().keys()].filter((slug) => scores[slug]).map((slug) => [slug, livek12.ranks.answersOf(scores[slug], questions)]).filter(([, run]) => run.asked.length));
    return { questions, runs, told: new Map([...runs].map(([slug, run]) => [slug, livek12.ranks.told(run)])) };
  };

  // Ranks of the best of these runs on these questions; kept, since sorting a table asks for them again.
  const kept = new Map();
  const ranked = async (key, picked, slugs) => {
    if (!kept.has(key)) {
      const { hash } = location, mark = (slug) => { const found = picked.told.get(slug).marks.get("mark"); return found ? found[0] + found[1] : -2; };
      const best = new Set(slugs.filter((slug) => picked.runs.has(slug)).sort((a, b) => mark(b) - mark(a)).slice(0, livek12.site().method.most));
      const runs = new Map([...picked.runs].filter(([slug]) => best.has(slug)));
      const found = runs.size < 2 ? { ranks: new Map(), tied: new Map() } : await livek12.ranks.ranked(runs, () => location.hash === hash);
      if (found === null) return null;
      kept.set(key, found);
    }
    return kept.get(key);
  };

  return { AXES, offered, chosen, pick, ranked };
})();
