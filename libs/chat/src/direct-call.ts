import type { Model, ModelPart, ModelUsage } from '#models';

/** A tool call that no model requested. */
export interface DirectCall {
  /** Absent: a new id is created. */
  readonly callId?: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

const nothing: ModelUsage = { promptTokens: 0, completionTokens: 0, totalTokens: 0, estimated: false };

/**
 * A model that requests exactly this call, so that it passes the same routing, policy and ledger as other calls. Once the call has a
 * result, it finishes without text.
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
