import { type DocumentChange, parseTriggerFiles, TriggerIndex } from '#triggers';

import { atMost, type Bench, type BenchMode, type BenchReport, type Row } from './bench.js';
import { percentile, rounded } from './measure/statistics.js';

const TRIGGERS = 1_000;
const COLLECTIONS = 40;

/** How the collections of the triggers are spread: all conditions of a case are evaluated, or those of its collections only. */
const cases = [
  { what: '40 collections', collection: (i: number) => `users/*/rooms-${i % COLLECTIONS}/*/messages` },
  { what: 'one collection', collection: () => 'users/*/rooms-7/*/messages' },
] as const;

/** How long one change takes to evaluate against 1,000 triggers of its database. */
export const triggers: Bench = {
  name: 'triggers',
  about: 'one change evaluated against 1,000 triggers, in one process without a database',
  run: (mode: BenchMode): Promise<BenchReport> => {
    const rows = cases.map((each) => measure(each, mode.quick ? 500 : 5_000));
    const slowest = Math.max(...rows.map(({ p95Ms }) => p95Ms));
    return Promise.resolve({ rows, aims: [atMost('p95 of an event with 1,000 triggers', slowest, [5, 'ms'])] });
  },
};

function measure({ what, collection }: (typeof cases)[number], events: number): Row & { readonly p95Ms: number } {
  const definitions = parseTriggerFiles([{ name: 'bench.json', text: JSON.stringify(files(collection)) }]);
  const index = new TriggerIndex(definitions.map((definition) => ({ definition })));
  const spent: number[] = [];
  const cpu: number[] = [];
  let evaluated = 0;
  let fired = 0;
  for (let i = -200; i < events; i++) {
    const change = toChange(i);
    const start = performance.now();
    const cpuStart = process.threadCpuUsage();
    const found = [...index.evaluate(change)];
    if (i < 0) continue; // the compiler of V8 warms up
    spent.push(performance.now() - start);
    const { user, system } = process.threadCpuUsage(cpuStart);
    cpu.push((user + system) / 1_000);
    evaluated += found.length;
    fired += found.filter(({ fires }) => fires).length;
  }
  return {
    ...{ what, triggers: TRIGGERS, events, evaluatedAnEvent: evaluated / events, firedAnEvent: fired / events },
    p50Ms: rounded(percentile(spent, 50)),
    p95Ms: rounded(percentile(spent, 95)),
    p95CpuMs: rounded(percentile(cpu, 95)),
    p99Ms: rounded(percentile(spent, 99)),
  };
}

function files(collection: (i: number) => string) {
  const conditions = [
    (i: number) => `role == 'user' && count > ${i}`,
    (i: number) => `event.document.role == 'user' && event.document.content.contains('word-${i % 50}')`,
    (i: number) => `tags.exists(tag, tag == 'tag-${i % 20}')`,
    () => "event.document.data.role in ['user', 'system'] && !has(event.document.hidden)",
  ];
  return Array.from({ length: TRIGGERS }, (_, i) => ({
    triggerId: `trigger-${i}`,
    database: 'bench',
    collection: collection(i),
    events: ['create', 'update'],
    condition: conditions[i % conditions.length]?.(i),
    url: '/webhook/llm',
  }));
}

function toChange(i: number): DocumentChange {
  const collection = `users/${i % 1_000}/rooms-7/${i % 30}/messages`;
  const content = `the words of message ${i} with word-${i % 50} and more text behind it`;
  const tags = [`tag-${i % 20}`, 'other', 'third'];
  return {
    ...{ database: 'bench', collection, type: 'create', timestamp: 1_700_000_000_000 + i, before: null },
    path: `${collection}/m${i}`,
    document: { id: `m${i}`, collection, version: 1, role: 'user', content, tags, count: i % 1_000 },
  };
}
