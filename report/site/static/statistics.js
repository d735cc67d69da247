// Intervals and tests as `core/statistics.py` computes them, number for number, for the questions
// that a reader chooses. Constants and the state of the random numbers come from there with the site's data.
"use strict";
livek12.statistics = (() => {
  const method = () => livek12.site().method;
  const total = (values) => { let sum = 0; for (const value of values) sum += value; return sum; };

  // ---- intervals
  // Hill (1970), algorithm 396: what |t| stays below at the level of the intervals.
  const tQuantile = (n) => {
    const { level, normal } = method(), p = 1 - level;
    if (n === 1) return 1 / Math.tan(p * Math.PI / 2);
    if (n === 2) return Math.sqrt(2 / (p * (2 - p)) - 2);
    const a = 1 / (n - 0.5), b = 48 / a ** 2;
    let c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
    const d = ((94.5 / (b + c) - 3) / b + 1) * Math.sqrt(a * Math.PI / 2) * n, y = (d * p) ** (2 / n);
    if (y > 0.05 + a) {
      const near = normal ** 2;
      if (n < 5) c += 0.3 * (n - 4.5) * (normal + 0.6);
      c += (((0.05 * d * normal - 5) * normal - 7) * normal - 2) * normal + b;
      const large = (((((0.4 * near + 6.3) * near + 36) * near + 94.5) / c - near - 3) / b + 1) * normal;
      return Math.sqrt(n * Math.expm1(a * large ** 2));
    }
    let small = (1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1;
    small = small * (n + 1) / (n + 2) + 1 / y;
    return Math.sqrt(n * small);
  };
  const worth = (share, variance, size, design) => {
    const { prior } = method(), binary = Math.max(0, share * (1 - share));
    return Math.max(binary > 1e-12 ? variance / binary : 0, (size * variance + prior * design / size) / (size * binary + prior));
  };
  const doubt = (share, influence, size, design, freedom) => {
    const n = influence.length, variance = n / (n - 1) * total(influence.map((one) => one * one));
    return tQuantile(freedom) ** 2 * worth(share, variance, size, design);
  };
  const freedomOf = (influence) => {
    const n = influence.length, least = Math.min(method().leastFreedom, n - 1);
    const second = total(influence.map((one) => one ** 2)), fourth = total(influence.map((one) => one ** 4));
    const found = 2 * second ** 2 / (fourth - second ** 2 / n);
    return Math.min(Math.max(second > 0 && Number.isFinite(found) && found > 0 ? found : n - 1, least), n - 1);
  };
  const scoreEnds = (share, unsure) => {
    const half = Math.sqrt(unsure * Math.max(0, share * (1 - share)) + unsure ** 2 / 4), middle = share + unsure / 2;
    const [low, high] = [Math.max(0, middle - half) / (1 + unsure), Math.min(1, (middle + half) / (1 + unsure))];
    return [Math.min(share, low), Math.max(share, high)];
  };
  const grouped = (codes, values, groups) => {
    const sums = new Float64Array(groups);
    for (let i = 0; i < codes.length; i += 1) sums[codes[i]] += values[i];
    return sums;
  };
  // A ratio of sums over questions, each between 0 and 1, with its interval; `clusters` null: each question is its own.
  const ratioSpread = (numerators, weights, clusters, groups) => {
    const n = numerators.length, whole = total(weights), value = total(numerators) / whole;
    let influence = numerators.map((one, i) => (one - value * weights[i]) / whole);
    const size = whole ** 2 / total(weights.map((one) => one * one));
    if (n < method().minQuestions || groups < 2) return { value, low: null, high: null, influence: clusters ? grouped(clusters, influence, groups) : influence, size };
    let unsure = doubt(value, influence, size, 1, n - 1);
    if (clusters) {
      influence = grouped(clusters, influence, groups);
      const together = total(grouped(clusters, weights, groups).map((one) => one * one));
      const design = 1 + method().withinPapers * Math.max(0, size * together / whole ** 2 - 1);
      unsure = Math.max(unsure, doubt(value, influence, size, design, freedomOf(influence)));
    }
    const [low, high] = scoreEnds(value, unsure);
    return { value, low, high, influence, size };
  };
  const correlation = (a, b) => {
    const norm = Math.sqrt(total(a.map((one) => one * one)) * total(b.map((one) => one * one)));
    return norm > 0 ? total(a.map((one, i) => one * b[i])) / norm : 0;
  };
  const differenceReach = (below, above, correlated, size) => {
    const sure = correlated * Math.max(0, 1 - method().unseenPairs / size);
    return Math.sqrt(Math.max(0, below ** 2 + above ** 2 - 2 * sure * below * above));
  };

  // ---- tests
  const mcnemar = (onlyA, onlyB) => {
    const n = onlyA + onlyB, k = Math.min(onlyA, onlyB);
    let [log, sum] = [-n * Math.LN2, 0];
    for (let i = 0; i <= k; i += 1) { sum += Math.exp(log); log += Math.log((n - i) / (i + 1)); }
    return Math.min(1, 2 * sum);
  };
  const tTail = (t, freedom) => {
    const angle = Math.atan(Math.abs(t) / Math.sqrt(freedom)), cos2 = Math.cos(angle) ** 2, odd = freedom % 2;
    let term = odd ? Math.cos(angle) : 1, sum = term;
    for (let i = odd ? 3 : 2; i < freedom - 1; i += 2) { term *= cos2 * (i - 1) / i; sum += term; }
    const within = odd ? 2 / Math.PI * (angle + (freedom > 1 ? Math.sin(angle) * sum : 0)) : Math.sin(angle) * sum;
    return Math.max(0, Math.min(1, 1 - within));
  };
  const clusteredT = (differences, clusters, groups) => {
    const n = differences.length, sum = total(differences);
    if (!sum) return 1;
    const left = differences.map((one) => one - sum / n), sums = grouped(clusters, left, groups);
    const single = n / (n - 1) * total(left.map((one) => one * one)), byCluster = groups / (groups - 1) * total(sums.map((one) => one * one));
    const variance = Math.max(single, byCluster);
    return variance > 0 ? tTail(sum / Math.sqrt(variance), groups - 1) : 0;
  };
  const erfc = (x) => {
    if (x < 2) {
      let [term, sum] = [x, x];
      for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n += 1) { term *= -x * x / n; sum += term / (2 * n + 1); }
      return 1 - 2 / Math.sqrt(Math.PI) * sum;
    }
    let tail = 0;
    for (let n = 120; n > 0; n -= 1) tail = n / 2 / (x + tail);
    return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + tail);
  };
  const seenSum = (d) => Math.abs(total(d)) - 1e-9 * total(d.map(Math.abs));
  // All patterns of signs, of which there are few.
  const allFlips = (d) => {
    const found = d.filter((one) => one !== 0), seen = seenSum(found);
    let sums = new Float64Array(1);
    for (const one of found) {
      const next = new Float64Array(2 * sums.length);
      sums.forEach((sum, i) => { next[i] = sum - one; next[i + sums.length] = sum + one; });
      sums = next;
    }
    let hits = 0;
    for (const sum of sums) if (Math.abs(sum) >= seen) hits += 1;
    return hits / sums.length;
  };
  const flipP = (hits, d) => {
    const { permutations } = method(), high = Math.abs(total(d)) / Math.sqrt(2 * total(d.map((one) => one * one)));
    return Math.min((1 + hits) / (1 + permutations), 3.178 * erfc(high));
  };
  // PCG XSL RR 128/64, the generator of numpy, from the state that it has after its seed; eight bytes a step.
  const generator = () => {
    const M = 0xffffffffffffffffn, ALL = (1n << 128n) - 1n, FACTOR = 0x2360ed051fc65da44385df649fccf645n;
    let state = BigInt(method().state);
    const step = BigInt(method().increment);
    return () => {
      state = (state * FACTOR + step) & ALL;
      const mixed = (state >> 64n) ^ (state & M), turn = state >> 122n;
      return ((mixed >> turn) | (mixed << ((64n - turn) & 63n))) & M;
    };
  };
  // Blocks of patterns: a byte a sign, 1 where it stays; drawn as `flip_signs` draws them. A block ends at a word of 32.
  function* flipSigns(n) {
    const { permutations, block: most } = method(), next = generator(), block = Math.max(1, Math.floor(most / n));
    let high = null;
    for (let start = 0; start < permutations; start += block) {
      const patterns = Math.min(block, permutations - start), count = patterns * n, words = Math.ceil(count / 4);
      const drawn = new Uint32Array(words);
      let at = 0;
      if (high !== null) { drawn[at] = high; at += 1; high = null; }
      while (at < words) {
        const value = next();
        drawn[at] = Number(value & 0xffffffffn);
        at += 1;
        const upper = Number(value >> 32n);
        if (at < words) { drawn[at] = upper; at += 1; } else high = upper;
      }
      const signs = new Uint8Array(count);
      for (let i = 0; i < count; i += 1) signs[i] = (drawn[i >> 2] >>> (8 * (i & 3) + 7)) & 1;
      yield { patterns, signs };
    }
  }
  const holm = (found) => {
    const order = found.map((p, i) => [p, i]).filter(([p]) => p !== null).sort((a, b) => a[0] - b[0] || a[1] - b[1]), adjusted = found.map(() => null);
    let running = 0;
    order.forEach(([p, i], rank) => { running = Math.max(running, Math.min(1, p * (order.length - rank))); adjusted[i] = running; });
    return adjusted;
  };

  return { total, grouped, ratioSpread, correlation, differenceReach, mcnemar, clusteredT, seenSum, allFlips, flipP, flipSigns, holm };
})();
