import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { runThere } from '../../../../test/harness/oracle-library.js';
import { runHere } from '../../../../test/harness/oracle-own.js';
import { oracleCases } from '../../../../test/harness/oracle-workflows.js';
import type { Played } from '../../../../test/harness/oracle-world.js';

/** The library that the format comes from executes what ours does: same nodes, same texts, same calls of models. */
describe('the executor of or3-workflow-core', () => {
  it.each([
    ['whose nodes do their work', false],
    ['some of whose agents fail', true],
  ])('ends in the same way with any definition %s', async (_, fails) => {
    await fc.assert(
      fc.asyncProperty(oracleCases({ fails }), async ({ document, world }) => {
        const [here, there] = [await runHere(document, world), await runThere(document, world)];
        expect(comparable(here)).toEqual(comparable(there));
      }),
      { numRuns: 300 },
    );
  });
});

/** Removes times from all texts. Only the reference keeps in the session what a body produced before it failed. */
function comparable(played: Played): unknown {
  const compared = played.success ? played : { ...played, session: [] };
  return JSON.parse(JSON.stringify(compared).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'now'));
}
