import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { type RandomRun, randomRuns } from '../../../../test/harness/workflow-arbitraries.js';
import { keyOf, Simulation, type World } from '../../../../test/harness/workflow-simulator.js';
import { isFinished, type NodeRunRow } from './node-run.js';

const calm = randomRuns({ calm: true });
const stormy = randomRuns({ calm: false });
const pure = new Set(['start', 'tool']);

function simulated({ plan, world }: RandomRun, more: Partial<World> = {}): Simulation {
  return new Simulation(plan, { ...world(), ...more }).start().finish({ answering: true });
}

/** Rows without their numbers, which depend on the order in which slots became free. */
function withoutNumbers(rows: readonly NodeRunRow[]): ReadonlyMap<string, object> {
  return new Map(rows.map((row) => [keyOf(row), { ...row, ordinal: 0 }] as const).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function picking(picks: readonly number[]): (count: number) => number {
  let at = 0;
  return (count) => (picks[at++ % picks.length] ?? 0) % count;
}

const picks = fc.array(fc.nat(100), { minLength: 1, maxLength: 20 });

/** Simulates workers that crash after so many writes, and a last one that survives; checks the commands that each received. */
function survived(random: RandomRun, crashes: readonly number[], more: Partial<World>): Simulation {
  const world = { ...random.world(), ...more };
  let rows: readonly NodeRunRow[] = [];
  for (const crash of crashes) {
    const life = new Simulation(random.plan, world, rows).start();
    while (life.result === null && life.writes.length < crash && life.atWork.length > 0) {
      life.step();
      if (life.run.resting) life.answer();
    }
    expectNothingAgain(life, rows);
    rows = merged(rows, life.writes.slice(0, crash));
  }
  const last = new Simulation(random.plan, world, rows);
  last.start().finish({ answering: true });
  expectNothingAgain(last, rows);
  last.writes.unshift(...rows);
  return last;
}

function merged(rows: readonly NodeRunRow[], writes: readonly NodeRunRow[]): readonly NodeRunRow[] {
  return [...new Map([...rows, ...writes].map((row) => [row.ordinal, row])).values()];
}

function expectNothingAgain(life: Simulation, rows: readonly NodeRunRow[]): void {
  const finished = new Set(rows.filter(({ status }) => isFinished(status)).map(keyOf));
  for (const command of life.commands)
    if (command.type === 'run' || command.type === 'store') expect(finished).not.toContain(keyOf(command.run));
}

describe('any workflow', () => {
  it('ends exactly once, and leaves no node unfinished', () => {
    fc.assert(
      fc.property(stormy, picks, (random, order) => {
        const life = simulated(random, { pick: picking(order) });
        expect(life.of('end')).toHaveLength(1);
        expect(life.atWork).toEqual([]);
        expect(life.rows().filter(({ status }) => !isFinished(status))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  it('runs each node at most once in each iteration', () => {
    fc.assert(
      fc.property(stormy, (random) => {
        const life = simulated(random);
        const begun = life.of('run').filter(({ isNew }) => isNew);
        expect(new Set(begun.map(({ run }) => keyOf(run))).size).toBe(begun.length);
        expect(new Set(life.rows().map(keyOf)).size).toBe(life.rows().length);
      }),
      { numRuns: 100 },
    );
  });

  it('numbers its rows without gaps', () => {
    fc.assert(
      fc.property(stormy, picks, (random, order) => {
        const rows = simulated(random, { pick: picking(order) }).rows();
        expect(rows.map(({ ordinal }) => ordinal)).toEqual(rows.map((_, at) => at + 1));
      }),
      { numRuns: 60 },
    );
  });

  it('ends with the same result for any order in which nodes end', () => {
    fc.assert(
      fc.property(calm, picks, (random, order) => {
        const first = simulated(random);
        const other = simulated(random, { pick: picking(order) });
        expect(other.result).toEqual(first.result);
        expect(withoutNumbers(other.rows())).toEqual(withoutNumbers(first.rows()));
      }),
      { numRuns: 100 },
    );
  });

  it('ends with the same status for any order in which nodes end', () => {
    fc.assert(
      fc.property(stormy, picks, (random, order) => {
        const other = simulated(random, { pick: picking(order) });
        expect(other.result?.status).toBe(simulated(random).result?.status);
      }),
      { numRuns: 100 },
    );
  });
});

describe('a crash of a workflow', () => {
  it('between any two writes does not change the result', () => {
    fc.assert(
      fc.property(calm, (random) => {
        const whole = simulated(random);
        for (let writes = 0; writes <= whole.writes.length; writes += 1) {
          const after = survived(random, [writes], {});
          expect(after.result).toEqual(whole.result);
          expect(withoutNumbers(after.rows())).toEqual(withoutNumbers(whole.rows()));
        }
      }),
      { numRuns: 12 },
    );
  });

  it('and further ones, with late writes and any order of ending, do not change the result', () => {
    fc.assert(
      fc.property(calm, fc.array(fc.nat(30), { maxLength: 5 }), picks, (random, crashes, order) => {
        const whole = simulated(random);
        const after = survived(random, crashes, { pick: picking(order), pure });
        expect(after.result).toEqual(whole.result);
        expect(withoutNumbers(after.rows())).toEqual(withoutNumbers(whole.rows()));
        const numbers = after.rows().map(({ ordinal }) => ordinal);
        expect(numbers).toEqual(numbers.map((_, at) => at + 1));
      }),
      { numRuns: 100 },
    );
  });

  it('does not change the status of the run', () => {
    fc.assert(
      fc.property(stormy, fc.array(fc.nat(30), { maxLength: 5 }), picks, (random, crashes, order) => {
        const after = survived(random, crashes, { pick: picking(order) });
        expect(after.result?.status).toBe(simulated(random).result?.status);
        expect(after.rows().filter(({ status }) => !isFinished(status))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});
