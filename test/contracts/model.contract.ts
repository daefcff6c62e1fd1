import { describe } from '@jest/globals';

import { describeAnswers } from './model-answers.contract.js';
import { describeFailures } from './model-failures.contract.js';
import { type CreateModel, ModelFixture } from './model-fixture.js';
import { describeStops } from './model-stops.contract.js';

/** What every `Model` promises (see the port). `create` makes one that talks to a server of OpenAI's protocol. */
export function describeModel(name: string, create: CreateModel): void {
  describe(`${name} as a Model`, () => {
    const given = new ModelFixture(create);
    describeAnswers(given);
    describeFailures(given);
    describeStops(given);
  });
}
