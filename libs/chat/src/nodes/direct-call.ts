import type { Model, ModelPart, ModelUsage } from '#models';

/** A call that a node itself makes. */
export interface DirectCall {
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

const nothing: ModelUsage = { promptTokens: 0, completionTokens: 0, totalTokens: 0, estimated: false };

/** Stands where the loop asks a model, and asks for this call: so it goes the way of every other call. */
export function directCall(call: DirectCall): Model {
  return {
    // eslint-disable-next-line @typescript-eslint/require-await -- the port is asynchronous, the answer is known
    async *stream(): AsyncGenerator<readonly ModelPart[]> {
      yield [
        { type: 'tool-calls', calls: [{ callId: '', ...call }] },
        { type: 'finish', finishReason: 'tool_calls', usage: nothing },
      ];
    },
  };
}
