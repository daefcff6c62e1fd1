import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import type { ChatMessage } from '#models';
import { Config, toStorable } from '#platform';
import { canonicalJson } from '#tools';

import { takeInlineFiles } from '../attachments/file-parts.js';
import { userMessagesSinceAnswer } from '../input/chat-input.js';
import { toContent } from '../threads/turn-message.part.js';
import { AnswersRepository } from './answers.repository.js';

/**
 * Counts messages that a thread already contains. Clients send whole conversations. If a turn produced no response, the client sends its user
 * messages again after the results with which they came.
 */
@Injectable()
export class DuplicateMessageFilter {
  constructor(
    private readonly answers: AnswersRepository,
    private readonly config: Config,
  ) {}

  /** How many of the messages after the results of `callId`, from the first on, the thread already contains. */
  async count(
    principal: Principal,
    { threadId, callId }: { readonly threadId: string; readonly callId: string },
    messages: readonly ChatMessage[],
  ): Promise<number> {
    // files are replaced as at the start, so that the messages can be compared
    const { messages: stored } = takeInlineFiles(userMessagesSinceAnswer(messages), this.config.values.FILE_TYPES);
    const texts = stored.map((message) => canonicalJson(toStorable(toContent(message))));
    if (texts.length === 0) return 0;
    const known = await this.answers.userMessagesSince(principal, { threadId, callId, limit: texts.length });
    const first = texts.findIndex((text, i) => i >= known.length || text !== canonicalJson(known[i]));
    return first === -1 ? texts.length : first;
  }
}
