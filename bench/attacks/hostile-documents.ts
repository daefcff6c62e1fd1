const repeat = (count: number, write: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => write(i)).join(' ');

function doubling(levels: number, type: string, last: string): string {
  return `${repeat(levels, (i) => `fragment f${i} on ${type} { ...f${i + 1} ...f${i + 1} }`)} fragment f${levels} on ${type} { ${last} }`;
}

/** As large as the limit of tokens allows, or ten times larger; each aims at another phase. `n` makes the text a new one. */
export const hostileQueries: readonly ((n: number) => string)[] = [
  (n) => `query q${n} { tools { ...f0 } } ${doubling(180, 'Tool', 'name')}`,
  (n) => `query q${n} { ...f0 } ${doubling(9, 'Query', 'tools { name }')}`,
  (n) => `query q${n} { tools { ${'name '.repeat(1_980)} } }`,
  (n) => `query q${n} { ${repeat(46, () => `tools { ${'name '.repeat(40)} }`)} }`,
  (n) =>
    `query q${n} { ${repeat(40, (i) => `...f${i}`)} } ${repeat(40, (i) => `fragment f${i} on Query { tools { ${repeat(13, (j) => `...g${(i * 13 + j) % 20}`)} } }`)} ${repeat(20, (i) => `fragment g${i} on Tool { name }`)}`,
  (n) =>
    `query q${n} { ...f0 } ${repeat(40, (i) => `fragment f${i} on Query { ${repeat(15, (j) => `...f${(i + j) % 40}`)} }`)}`,
  (n) => `query q${n} { ${repeat(1_980, (i) => `unknown${i}`)} }`,
  (n) => `query q${n} { ${'\n'.repeat(45_000)} ${repeat(300, (i) => `unknown${i}`)} }`,
  (n) => `query q${n} { nodes(ids: ${'['.repeat(980)}${']'.repeat(980)}) { nodeId } }`,
  (n) => `query q${n} { nodes(ids: [${'"a" '.repeat(1_950)}]) { nodeId } }`,
  (n) => `query q${n}(${repeat(300, (i) => `$v${i}: ID!`)}) { tools { name } }`,
  (n) => `query q${n} { job(${repeat(450, (i) => `a${i}: 1`)}) { id } }`,
  (n) => `query q${n} { tools { name ${repeat(600, (i) => `@d${i}`)} } }`,
  (n) => `{ ${'a'.repeat(1_000_000)}${n} }`,
];

/** Introspections that all differ, each about as dear as one operation may be. */
export const introspections: readonly ((n: number) => string)[] = [
  (n) =>
    `query q${n} { __schema { ${repeat(9, (i) => `x${i}: types { fields { type { fields { type { name } } } } }`)} } }`,
  (n) =>
    `query q${n} { __schema { ${repeat(6, (i) => `x${i}: types { fields { args { type { inputFields { type { name } } } } } }`)} } }`,
  (n) => `query q${n} { ${repeat(25, (i) => `x${i}: __schema { types { name } }`)} }`,
  (n) => `query q${n} { __schema { types { fields { type { fields { type { fields { name } } } } } } } }`,
];

/** Subscriptions to a job that does not exist: what they cost is over before the job is looked up. */
export const hostileSubscriptions: readonly ((n: number) => string)[] = [
  (n) => `subscription s${n} { jobEvents(jobId: "x") { ...f0 } } ${doubling(180, 'JobEvent', '__typename')}`,
  (n) =>
    `subscription s${n} { jobEvents(jobId: "x") { ...f0 } } ${doubling(7, 'JobEvent', '... on JobEventEntry { seq }')}`,
  (n) =>
    `subscription s${n} { jobEvents(jobId: "x") { ${repeat(95, () => '... on JobEventEntry { seq at attempt }')} } }`,
];
