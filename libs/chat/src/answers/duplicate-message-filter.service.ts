import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import type { ChatMessage } from '#models';
import { toStorable } from '#platform';
import { canonicalJson } from '#tools';

import { saidSinceAnswer } from '../chat-input.js';
import { toContent } from '../threads/turn-message-part.repository.js';
import { AnswersRepository } from './answers.repository.js';

/**
 * Clients send whole conversations. Where nothing came of a turn, what was said in it stands behind the results that it was said
 * beside when they send it again, and stands in the thread as well.
 */
@Injectable()
export class DuplicateMessageFilter {
  constructor(private readonly answers: AnswersRepository) {}

  /** How many messages behind the results of `callId`, the first ones, the thread has already. */
  async count(
    principal: Principal,
    { threadId, callId }: { readonly threadId: string; readonly callId: string },
    messages: readonly ChatMessage[],
  ): Promise<number> {
    const said = saidSinceAnswer(messages).map((message) => canonicalJson(toStorable(toContent(message))));
    if (said.length === 0) return 0;
    const known = await this.answers.saidSince(principal, { threadId, callId, limit: said.length });
    const first = said.findIndex((text, i) => i >= known.length || text !== canonicalJson(known[i]));
    return first === -1 ? said.length : first;
  }
}
