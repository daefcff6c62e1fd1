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
import type { OfferedTool, PlannedCall, ReceiptCall, SettledStatus, ToolCallStatus, ToolEffect } from '#tools';

/** A call of a committed round, as the loop sees it. */
export interface LoopCall {
  readonly ordinal: number;
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  /** As stored in its row; absent: the call comes from an earlier run. */
  readonly effect?: ToolEffect;
  readonly status: ToolCallStatus;
  /** What the model reads as its result; empty while the call is open. */
  readonly text: string;
  /** How it came to run or not, for the receipt; absent: nobody was asked about any call of its round. */
  readonly receipt?: Omit<ReceiptCall, 'callId'>;
}

/** A round that was committed: the model's answer and its calls, in order. */
export interface LoopRound {
  /** Unique within the job and growing within the conversation. */
  readonly round: number;
  readonly text: string;
  readonly reasoning: string;
  readonly finishReason: FinishReason;
  readonly calls: readonly LoopCall[];
  /** What `LoopInput.capture` was called with, JSON text: the answer. */
  readonly captured?: string;
}

/** How one call ended; `text` is what the model reads. */
export interface CallResult {
  readonly ordinal: number;
  readonly status: SettledStatus;
  readonly text: string;
  /** What kept it from running, in the place of what had allowed it. */
  readonly receipt?: Omit<ReceiptCall, 'callId'>;
}

/** All limits are whole numbers >= 1. */
export interface LoopLimits {
  readonly maxRounds: number;
  /** The last round is asked without tools, so that it answers; or like the others, and the loop stops after its calls. */
  readonly lastRound?: 'without-tools' | 'like-others';
  readonly maxToolCallsPerRound: number;
  /** UTF-8 bytes of the text and reasoning of all rounds. */
  readonly maxOutputBytes: number;
  /** How often one round may be asked again after its stream broke. */
  readonly maxRestartsPerRound: number;
}

/** Everything a run of the loop depends on. A conversation that is resumed gives the rounds it committed; a new one gives none. */
export interface LoopInput {
  readonly model: Model;
  readonly modelName: string;
  readonly parameters?: ModelParameters;
  /** Holds for the first round; later ones are asked with `auto`. */
  readonly toolChoice?: ToolChoice;
  /** The conversation before the rounds; provider-valid (see `buildHistory`). */
  readonly messages: readonly ChatMessage[];
  readonly rounds: readonly LoopRound[];
  /** What the model may ask for, in the order of the request. */
  readonly offered: readonly OfferedTool[];
  /** Reads on where a result was cut; offered beside the others once there is such a result. */
  readonly pager?: OfferedTool;
  /** A tool that is never run: the loop ends when it is called, and what it is called with is the answer. */
  readonly capture?: ToolDefinition;
  /** Gives each new round its number; absent: the one after the last. */
  readonly nextRound?: () => number;
  /** Ids of calls that the job's other conversations hold; those of new calls differ from them. */
  readonly usedCallIds?: ReadonlySet<string>;
  /** Present: ids of calls for clients are taken before the calls are planned, and this makes those that cannot be had. */
  readonly newCallId?: () => string;
  /** What was said after the results of a round, by the round. */
  readonly said?: ReadonlyMap<number, readonly ChatMessage[]>;
  /** What the model reads of a call to a tool that is not there. */
  readonly unknownTool?: (name: string) => string;
  readonly limits: LoopLimits;
  /** Called for every part of a response as it arrives, also for parts of tool calls, which are not steps. */
  readonly onModelData?: () => void;
  /** Aborts the model call; the loop then returns `stopped` with code `aborted`. */
  readonly signal: AbortSignal;
}

/** What happened. The loop goes on when the consumer asks for the next step, so a step that is stored first stays first. */
export type LoopStep =
  | { readonly type: 'round-started'; readonly round: number; readonly toolsOffered: number }
  /** All text of one read of the model's stream. */
  | { readonly type: 'text'; readonly round: number; readonly text: string }
  | { readonly type: 'reasoning'; readonly round: number; readonly text: string }
  /** Text and reasoning of the round are withdrawn and it is asked again. */
  | { readonly type: 'round-restarted'; readonly round: number; readonly reason: string }
  /**
   * The provider could not be used and nothing of the round is shown. `committed`: rounds before it. The reply asks again, at once
   * or although requests to the provider are paused (`probe`); without a reply the loop stops with the failure.
   */
  | {
      readonly type: 'provider-down';
      readonly round: number;
      readonly committed: number;
      readonly failure: ModelError;
    }
  /** Ids of calls for clients. The reply carries those that others hold. */
  | { readonly type: 'take-call-ids'; readonly round: number; readonly callIds: readonly string[] }
  /** To be committed with its calls before the next step is asked for: the first tool starts after it. */
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
  /** Open calls of a committed round. The reply carries how they ended; one that is left out is still open. */
  | { readonly type: 'run-calls'; readonly round: number; readonly calls: readonly LoopCall[] };

/** The consumer's reply to a step, passed to `next()`: required for `run-calls`, `take-call-ids` and `provider-down`, else undefined. */
export type LoopReply =
  | { readonly results: readonly CallResult[] }
  | { readonly held: ReadonlySet<string> }
  | { readonly ask: 'again' | 'probe' }
  | undefined;

/** What was shown of a round that was not committed. */
export interface OpenRound {
  readonly round: number;
  readonly text: string;
  readonly reasoning: string;
}

export type LoopOutcome =
  /** The model answered. */
  | { readonly type: 'finished'; readonly reason: FinishReason }
  /** Calls of the round are open and nothing here can settle them. */
  | { readonly type: 'waiting'; readonly round: number; readonly calls: readonly LoopCall[] }
  /**
   * It cannot go on. `code`: `aborted` (the signal; `cause` is its reason), `OUTPUT_LIMIT`, `round_limit`, or the model error's.
   * `message` is a sentence for a person; `open` is the text shown since the last commit, which stays accepted.
   */
  | {
      readonly type: 'stopped';
      readonly code: string;
      readonly message: string;
      readonly cause: unknown;
      readonly open: OpenRound | null;
    };
