import { type Interrupt, type Nightshift, NightshiftError } from '@nightshift/client';

import { argumentsOf } from '../requests/arguments-of.js';
import { type Answer, askAnswer, type Asking, type AskTools } from '../requests/ask-answer.js';
import { LEFT, Prompts } from '../requests/prompts.js';
import { explained } from '../requests/say-settled.js';
import { showAsked } from '../requests/show-asked.js';
import { oneLine } from '../terminal/plain-text.js';
import type { Screen } from '../terminal/screen.js';

export interface PrompterInit {
  readonly client: Nightshift;
  readonly screen: Screen;
  readonly editor: string | undefined;
}

/** Codes of refusals after which the same person may try again. */
const correctable = new Set(['invalid_arguments', 'invalid_input', 'bad_request', 'too_large']);

/** Puts requests to the person at the terminal, one after the other, and sends their answers. */
export class InterruptPrompter {
  private last: Promise<unknown> = Promise.resolve();
  private readonly questions = new Map<string, AbortController>();

  constructor(private readonly init: PrompterInit) {}

  /** Asks as soon as those before are settled. Gives `later`, `LEFT` or, when it is settled, undefined. */
  ask(id: string): Promise<'later' | typeof LEFT | undefined> {
    const question = new AbortController();
    this.questions.set(id, question);
    const asked = this.last.then(() => this.settle(id, question.signal));
    this.last = asked.catch(() => undefined);
    return asked.finally(() => this.questions.delete(id));
  }

  /** Withdraws a question when another person has answered, or when it is no longer needed. */
  withdraw(id: string): void {
    this.questions.get(id)?.abort();
  }

  withdrawAll(): void {
    for (const id of this.questions.keys()) this.withdraw(id);
  }

  private async settle(id: string, signal: AbortSignal): Promise<'later' | typeof LEFT | undefined> {
    const { client, screen } = this.init;
    const isWithdrawn = () => signal.aborted;
    while (!isWithdrawn()) {
      const request = await client.interrupts.get(id);
      if (request?.status !== 'OPEN') return undefined;
      const asking = await screen.lend(() => this.show(request, signal));
      if (isWithdrawn()) return undefined;
      if (asking === undefined || asking === 'later' || asking === LEFT) return asking;
      if (await this.send(request, asking)) return undefined;
    }
    return undefined;
  }

  private async show(request: Interrupt, signal: AbortSignal): Promise<Asking | undefined> {
    const { screen, client, editor } = this.init;
    const shown = await showAsked(screen, client, request);
    screen.errors.write(`\n${shown.join('\n')}\n`);
    if (signal.aborted || !request.mayDecide || request.kind === 'CLIENT_TOOL') return undefined;
    const tools: AskTools = {
      prompts: new Prompts(screen, signal),
      editor,
      argumentsOf: (asked) => argumentsOf(client, asked),
    };
    return askAnswer(request, tools);
  }

  /** Whether it is settled now, by this answer or another one. */
  private async send({ id }: Interrupt, answer: Answer): Promise<boolean> {
    try {
      await this.init.client.interrupts.resolve({ id, ...answer });
      return true;
    } catch (error) {
      if (!(error instanceof NightshiftError)) throw error;
      const { client, screen } = this.init;
      const reason = await explained(client, id, error);
      const message = reason instanceof Error ? reason.message : error.message;
      for (const line of [message, ...error.issues]) screen.note(screen.paint('red', `  ${oneLine(line)}`));
      return !correctable.has(error.code) && error.code !== 'arguments_changed';
    }
  }
}
