import type { Model, ModelPart, ModelUsage } from '#models';

/** A call that no model asks for. */
export interface DirectCall {
  /** Absent: it gets one of ours. */
  readonly callId?: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

const nothing: ModelUsage = { promptTokens: 0, completionTokens: 0, totalTokens: 0, estimated: false };

/**
 * Stands where the loop asks a model, and asks for this call: so it goes the way of every other call. Asked again once it has
 * a result, it says nothing.
 */
export function directCall(call: DirectCall): Model {
  return {
    // eslint-disable-next-line @typescript-eslint/require-await -- the port is asynchronous, the answer is known
    async *stream({ messages }): AsyncGenerator<readonly ModelPart[]> {
      if (messages.some(({ role }) => role === 'tool')) {
        yield [{ type: 'finish', finishReason: 'stop', usage: nothing }];
        return;
      }
      yield [
        { type: 'tool-calls', calls: [{ callId: '', ...call }] },
        { type: 'finish', finishReason: 'tool_calls', usage: nothing },
      ];
    },
  };
}
