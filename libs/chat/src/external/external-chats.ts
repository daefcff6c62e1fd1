import { Injectable } from '@nestjs/common';

import type { JobRun } from '#jobs';
import type { ChatMessage } from '#models';
import type { LedgerCall } from '#tools';

import type { CollectedCall } from '../loop/collected-call.js';

/** Refers to a chat in another system. It is stored with the input of the job, so it must not contain a secret in plain text. */
export interface ExternalReference {
  /** The `source` of the `ExternalChat` to which the chat belongs. */
  readonly source: string;
  /** The id that the user of the chat has in the other system. */
  readonly userId: string;
  /** Sorts the jobs of the chat that are queued (`StartRequest.queueOrder`). */
  readonly order: string;
  readonly [field: string]: unknown;
}

/** The request for the model. `skip`: the job completes without calling the model. */
export type ExternalQuestion =
  | { readonly type: 'ask'; readonly messages: readonly ChatMessage[]; readonly withTools: boolean }
  | { readonly type: 'skip'; readonly why: string };

/** A committed response of the model, with all its calls. Their ids are new in the conversation. */
export interface ExternalAnswer {
  readonly text: string;
  readonly calls: readonly CollectedCall[];
}

/** How the call of a job ended. `call`: its row; null if the call was never recorded. */
export interface ExternalCallEnd {
  readonly call: LedgerCall | null;
  /** Why the job did not complete. */
  readonly failure: string | null;
}

/**
 * The adapter for chats whose messages and tool calls are documents of another system. A job calls the model once and writes its response
 * there, or runs one call and writes its result there. The writing methods may run again after a crash, so repeating them must not change the
 * result.
 */
export interface ExternalChat {
  readonly source: string;
  /** Reads the conversation. Not called if the response is already committed. */
  question(run: JobRun, reference: ExternalReference): Promise<ExternalQuestion>;
  /** Returns false if the response is empty; nothing is written then. */
  writeAnswer(run: JobRun, reference: ExternalReference, answer: ExternalAnswer): Promise<boolean>;
  /** `signal` replaces the signal of the run, which may be aborted. */
  writeCallEnd(
    run: JobRun,
    reference: ExternalReference,
    end: ExternalCallEnd & { readonly signal: AbortSignal },
  ): Promise<void>;
}

/** The external chats of this process. Higher libs register them at boot. */
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
