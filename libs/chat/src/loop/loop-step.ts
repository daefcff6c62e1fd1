import type { ReceiptCall } from '#approvals';
import type {
  ChatMessage,
  FinishReason,
  Model,
  ModelError,
  ModelParameters,
  ModelUsage,
  ToolChoice,
  ToolDefinition,
} from '#models';
import type { OfferedTool, PlannedCall, SettledStatus, ToolCallStatus, ToolEffect } from '#tools';

/** A call of a committed round, as the loop sees it. */
export interface LoopCall {
  readonly ordinal: number;
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  /** The effect, as stored in the call's row. Absent for a call of an earlier run. */
  readonly effect?: ToolEffect;
  readonly status: ToolCallStatus;
  /** The result that the model reads; empty while the call is open. */
  readonly text: string;
  /** Why the call ran or not, for the receipt. Absent: no person decided about a call of the round. */
  readonly receipt?: Omit<ReceiptCall, 'callId'>;
}

/** A committed round: the model's response and its calls, in order. */
export interface LoopRound {
  /** Unique within the job and increasing within the conversation. */
  readonly round: number;
  readonly text: string;
  readonly reasoning: string;
  readonly finishReason: FinishReason;
  readonly calls: readonly LoopCall[];
  /** JSON arguments of the call to `LoopInput.capture`, which are the response. */
  readonly captured?: string;
}

/** How one call ended; `text` is the result that the model reads. */
export interface CallResult {
  readonly ordinal: number;
  readonly status: SettledStatus;
  readonly text: string;
  /** Why the call did not run; replaces the receipt of its approval. */
  readonly receipt?: Omit<ReceiptCall, 'callId'>;
}

/** Limits of the loop, all whole numbers >= 1. */
export interface LoopLimits {
  readonly maxRounds: number;
  /**
   * `without-tools`: the last round is requested without tools, so the model must respond with text. `like-others`: the last round has tools,
   * and the loop stops after its calls.
   */
  readonly lastRound?: 'without-tools' | 'like-others';
  readonly maxToolCallsPerRound: number;
  /** UTF-8 bytes of the text and reasoning of all rounds. */
  readonly maxOutputBytes: number;
  /** How often one round may be requested again after its stream broke. */
  readonly maxRestartsPerRound: number;
}

/** The input of the loop. A resumed conversation passes the rounds it has committed; a new one passes none. */
export interface LoopInput {
  readonly model: Model;
  readonly modelName: string;
  readonly parameters?: ModelParameters;
  /** For the first round; later rounds use `auto`. */
  readonly toolChoice?: ToolChoice;
  /** The conversation before the rounds, valid for the provider (see `buildHistory`). */
  readonly messages: readonly ChatMessage[];
  readonly rounds: readonly LoopRound[];
  /** The tools that the model may call, in the order of the request. */
  readonly offered: readonly OfferedTool[];
  /** The tool that reads the rest of a truncated result. Offered once a result was truncated. */
  readonly outputReader?: OfferedTool;
  /** A tool that is never run: the loop ends when the model calls it, and its arguments are the response. */
  readonly capture?: ToolDefinition;
  /** The loop ends with its first response, and calls in it are not run: the JSON of all `CollectedCall` is the response (`captured`). */
  readonly collectsCalls?: true;
  /** Returns the number of each new round. Absent: one more than the last. */
  readonly nextRound?: () => number;
  /** Ids of calls of the job's other conversations; new calls get other ids. */
  readonly usedCallIds?: ReadonlySet<string>;
  /** If present, ids of calls for clients are reserved before the calls are planned. This function replaces ids that are taken. */
  readonly newCallId?: () => string;
  /** The messages that the client sent after the results of a round, by round. */
  readonly messagesAfterRound?: ReadonlyMap<number, readonly ChatMessage[]>;
  /** The result that the model reads after a call to an unknown tool. */
  readonly unknownTool?: (name: string) => string;
  readonly limits: LoopLimits;
  /** Called for every part of a response when it arrives, including parts of tool calls, which are not steps. */
  readonly onModelData?: () => void;
  /** Aborts the model call; the loop then returns `stopped` with code `aborted`. */
  readonly signal: AbortSignal;
}

/** One step of the loop. The loop continues when the consumer requests the next step, so a step is stored before the next one happens. */
export type LoopStep =
  | { readonly type: 'round-started'; readonly round: number; readonly toolsOffered: number }
  /** All text of one read from the model's stream. */
  | { readonly type: 'text'; readonly round: number; readonly text: string }
  | { readonly type: 'reasoning'; readonly round: number; readonly text: string }
  /** Text and reasoning of the round are withdrawn, and the round is requested again. */
  | { readonly type: 'round-restarted'; readonly round: number; readonly reason: string }
  /**
   * The provider could not be used, and nothing of the round is shown. `committed`: number of rounds before it. The reply requests the round
   * again: `again`, or `probe` even if requests to the provider are paused. Without a reply the loop stops with the failure.
   */
  | {
      readonly type: 'provider-down';
      readonly round: number;
      readonly committed: number;
      readonly failure: ModelError;
    }
  /** Ids of calls for clients. The reply contains the ids that are taken. */
  | { readonly type: 'take-call-ids'; readonly round: number; readonly callIds: readonly string[] }
  /** Commit the round with its calls before you request the next step: the first tool starts after it. */
  | {
      readonly type: 'round-finished';
      readonly round: number;
      readonly text: string;
      readonly reasoning: string;
      readonly finishReason: FinishReason;
      readonly usage: ModelUsage;
      readonly calls: readonly PlannedCall[];
      readonly captured?: string;
    }
  /** Open calls of a committed round. The reply contains their results; a call without one is still open. */
  | { readonly type: 'run-calls'; readonly round: number; readonly calls: readonly LoopCall[] };

/**
 * The consumer's reply to a step, passed to `next()`: required for `run-calls`, `take-call-ids` and `provider-down`. After `round-finished`,
 * `committed` has the calls as they are stored, if hooks have changed their arguments. Else undefined.
 */
export type LoopReply =
  | { readonly results: readonly CallResult[] }
  | { readonly unavailableIds: ReadonlySet<string> }
  | { readonly ask: 'again' | 'probe' }
  | { readonly committed: readonly PlannedCall[] }
  | undefined;

/** The shown text of a round that was not committed. */
export interface OpenRound {
  readonly round: number;
  readonly text: string;
  readonly reasoning: string;
}

export type LoopOutcome =
  /** The model responded without further calls. */
  | { readonly type: 'finished'; readonly reason: FinishReason }
  /** Calls of the round are open and cannot be settled here. */
  | { readonly type: 'waiting'; readonly round: number; readonly calls: readonly LoopCall[] }
  /**
   * The loop cannot continue. `code`: `aborted` (the signal; `cause` is its reason), `OUTPUT_LIMIT`, `round_limit`, or the model error's.
   * `message` is a sentence for people; `open` is the text shown since the last commit, which stays accepted.
   */
  | {
      readonly type: 'stopped';
      readonly code: string;
      readonly message: string;
      readonly cause: unknown;
      readonly open: OpenRound | null;
    };
