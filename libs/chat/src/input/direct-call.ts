import type { Model, ModelPart, ModelUsage } from '#models';

/** A tool call that no model requested. */
export interface DirectCall {
  /** Absent: a new id is created. */
  readonly callId?: string;
  readonly name: string;
  /** The arguments as JSON text. */
  readonly arguments: string;
}

const nothing: ModelUsage = { promptTokens: 0, completionTokens: 0, totalTokens: 0, estimated: false };

/**
 * A model that requests exactly this call, so that the call has the same routing, policy and ledger as other calls. When the call has a
 * result, the model finishes without text.
 */
export function directCall(call: DirectCall): Model {
  return {
    // eslint-disable-next-line @typescript-eslint/require-await -- the port is asynchronous, the response is known
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
