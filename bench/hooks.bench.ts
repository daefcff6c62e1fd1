import { defineHook, type HookDefinition, type HookEvents } from '@nightshift/plugin';

import { createLogger, Metrics, Redactor, systemClock } from '#platform';
import { type FilterEvent, Hooks } from '#tools';

import { atMost, type Bench, type BenchReport, type Row } from './bench.js';

const job = {
  ...{ workspaceId: 'w', jobId: 'j', threadId: null, principal: 'user:u', userId: 'u' },
  ...{ kind: 'chat', agent: 'support', workflow: null, labels: {} },
};
const messages = Array.from({ length: 40 }, (_, i) => ({ role: 'user' as const, content: `message ${i}` }));
/** The events of a round with one call. */
const round = {
  beforeModelCall: { ...job, round: 3, model: 'm', messages, tools: [], parameters: {} },
  afterModelCall: { ...job, round: 3, model: 'm', text: 'Hello', toolCalls: [], usage: null },
  beforeToolCall: { ...job, callId: 'c', tool: 'look', arguments: { a: 1 }, effect: 'pure', approval: 'none' },
  afterToolCall: { ...job, callId: 'c', tool: 'look', arguments: { a: 1 }, result: 'r', error: null, durationMs: 1 },
} satisfies Partial<{ readonly [On in FilterEvent]: HookEvents[On] }>;
const kinds = ['beforeModelCall', 'afterModelCall', 'beforeToolCall', 'afterToolCall'] as const;

const host = () => ({
  contexts: {
    servicesFor: () => {
      throw new Error('no hook of this bench runs');
    },
    userIdOf: () => Promise.resolve(null),
  },
  ...{
    clock: systemClock,
    logger: createLogger({ level: 'silent' }),
    metrics: new Metrics(),
    redactor: new Redactor(),
  },
});

/** Ten hooks of one kind that match nothing: half of them by conditions, half by globs. */
function tenHooks(on: (typeof kinds)[number]): readonly HookDefinition[] {
  return Array.from({ length: 10 }, (_, i) => {
    const match = i % 2 === 0 ? 'agent == "sales" && kind == "chat"' : { agent: ['sales-*', 'other'] };
    return defineHook({ on, name: `${on}-${i}`, match, run: () => undefined }); // of any kind
  });
}

const filterRound = async (hooks: Hooks) => {
  for (const on of kinds) if (hooks.has(on)) await hooks.filter(on, round[on]); // the event of this kind
};

async function microsPerRound(hooks: Hooks, rounds: number): Promise<number> {
  for (let i = 0; i < rounds / 10; i++) await filterRound(hooks);
  const began = performance.now();
  for (let i = 0; i < rounds; i++) await filterRound(hooks);
  return Math.round(((performance.now() - began) / rounds) * 100_000) / 100;
}

/** What hooks cost a round when none of them matches. */
export const hooks: Bench = {
  name: 'hooks',
  about: 'hooks of plugins that match nothing, in microseconds a round with one tool call',
  run: async ({ quick, say }): Promise<BenchReport> => {
    const rounds = quick ? 2_000 : 50_000;
    const plugin = { name: 'bench', secrets: [] };
    const of = (definitions: readonly HookDefinition[]) =>
      new Hooks(
        definitions.map((hook) => ({ plugin, hook })),
        host(),
      );
    say('hooks that match nothing');
    const none = await microsPerRound(of([]), rounds);
    const rows: Row[] = [{ hooks: 'none', microsPerRound: none }];
    const costs: number[] = [];
    for (const on of kinds) {
      const micros = await microsPerRound(of(tenHooks(on)), rounds);
      costs.push(micros);
      rows.push({ hooks: `ten of ${on}`, microsPerRound: micros });
    }
    return { rows, aims: [atMost('ten hooks that match nothing', Math.max(...costs), [20, 'µs a round'])] };
  },
};
