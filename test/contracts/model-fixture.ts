import { afterEach, beforeEach, expect } from '@jest/globals';

import type { Model, ModelError, ModelOptions, ModelPart, ModelRequest, ModelTarget } from '#models';
import { ManualClock, Secret } from '#platform';

import { ScriptedModel } from '../harness/scripted-model.js';
import { until } from '../harness/until.js';

/** Makes the model under test, talking to a server of OpenAI's protocol. */
export type CreateModel = (target: ModelTarget, options: ModelOptions) => Model;

export const KEY = 'the-very-own-canary-key';
export const question: ModelRequest = { model: 'm-1', messages: [{ role: 'user', content: 'Hello?' }] };
/** The finish of a scripted answer. */
export const finish = {
  type: 'finish',
  finishReason: 'stop',
  usage: { promptTokens: 11, completionTokens: 7, totalTokens: 18, estimated: false },
};

/** One call, running. */
export interface RunningCall {
  /** Fills as parts come. */
  readonly seen: readonly ModelPart[];
  /** All parts, neighbouring texts joined. */
  readonly done: Promise<ModelPart[]>;
  failure(): Promise<ModelError>;
}

/** A scripted server and a hand-moved clock, new for each test; leftovers of either fail the test. */
export class ModelFixture {
  private started: ScriptedModel | undefined;
  clock = new ManualClock();

  constructor(private readonly create: CreateModel) {
    beforeEach(async () => {
      this.started = await ScriptedModel.start();
      this.clock = new ManualClock();
    });
    afterEach(async () => {
      await until('no timer is left', () => {
        this.clock.advance(1_000); // a finished answer's connection may linger for a moment
        return this.clock.pending === 0;
      });
      this.server.assertDone();
      await this.server.close();
    });
  }

  get server(): ScriptedModel {
    if (this.started === undefined) throw new Error('The server starts before each test.');
    return this.started;
  }

  /** A model that talks to the scripted server, if `options` names no other. */
  model(options: Partial<ModelOptions & ModelTarget> = {}): Model {
    const { baseUrl = this.server.url, apiKey = new Secret(KEY), ...rest } = options;
    return this.create({ baseUrl, apiKey }, { clock: this.clock, ...rest });
  }

  run(
    request = question,
    options: Partial<ModelOptions & ModelTarget> = {},
    signal = new AbortController().signal,
  ): RunningCall {
    const seen: ModelPart[] = [];
    const done = this.consume(this.model(options).stream(request, signal), seen);
    done.catch(() => undefined); // each test looks at it when it is ready to
    const failure = async () => {
      try {
        await done;
      } catch (error) {
        return error as ModelError; // the tests compare it member by member
      }
      throw new Error('The call did not fail.');
    };
    return { seen, done, failure };
  }

  private async consume(batches: AsyncIterable<readonly ModelPart[]>, seen: ModelPart[]): Promise<ModelPart[]> {
    for await (const parts of batches) {
      expect(parts.length).toBeGreaterThan(0);
      seen.push(...parts);
    }
    return join(seen);
  }
}

/** Parts in order, neighbouring texts joined: what does not depend on how the network cut the stream. */
function join(parts: readonly ModelPart[]): ModelPart[] {
  const joined: ModelPart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (last?.type === 'text' && part.type === 'text')
      joined[joined.length - 1] = { type: 'text', text: last.text + part.text };
    else joined.push(part);
  }
  return joined;
}
