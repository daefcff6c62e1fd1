import { Injectable } from '@nestjs/common';

import type { JobRun } from '#jobs';
import type { ChatMessage } from '#models';
import type { LedgerCall } from '#tools';

import type { CollectedCall } from '../loop/collected-call.js';

/** Refers to a chat in another system; stored with the input of the job, so it contains no secret in the clear. */
export interface ExternalReference {
  /** The `source` of the `ExternalChat` that knows it. */
  readonly source: string;
  /** Whose chat it is, by the id that this user has there. */
  readonly userId: string;
  /** Sorts the jobs of the chat that are queued (`StartRequest.queueOrder`). */
  readonly order: string;
  readonly [field: string]: unknown;
}

/** What the model is asked; `skip`: the job completes without asking it. */
export type ExternalQuestion =
  | { readonly type: 'ask'; readonly messages: readonly ChatMessage[]; readonly withTools: boolean }
  | { readonly type: 'skip'; readonly why: string };

/** A committed response of the model, with all its calls. They have ids that the conversation has not used. */
export interface ExternalAnswer {
  readonly text: string;
  readonly calls: readonly CollectedCall[];
}

/** How the call of a job ended. `call`: its row; null: it was never recorded. */
export interface ExternalCallEnd {
  readonly call: LedgerCall | null;
  /** Why the job did not complete. */
  readonly failure: string | null;
}

/**
 * Chats whose messages and tool calls are documents of another system. A job asks the model once and writes its response there, or runs one
 * call and writes its result. The writing methods run again after a crash, so they must have the same effect as once.
 */
export interface ExternalChat {
  readonly source: string;
  /** Reads the conversation. Not called once the response is committed. */
  question(run: JobRun, reference: ExternalReference): Promise<ExternalQuestion>;
  /** False: the response is empty and nothing was written. */
  writeAnswer(run: JobRun, reference: ExternalReference, answer: ExternalAnswer): Promise<boolean>;
  /** `signal` replaces that of the run, which may be aborted. */
  writeCallEnd(
    run: JobRun,
    reference: ExternalReference,
    end: ExternalCallEnd & { readonly signal: AbortSignal },
  ): Promise<void>;
}

/** The external chats of this process, which the libs above register at boot. */
@Injectable()
export class ExternalChats {
  private readonly bySource = new Map<string, ExternalChat>();

  register(chat: ExternalChat): void {
    this.bySource.set(chat.source, chat);
  }

  of({ source }: ExternalReference): ExternalChat {
    const chat = this.bySource.get(source);
    if (chat === undefined) throw new Error(`no external chat has the source ${source}`);
    return chat;
  }
}
