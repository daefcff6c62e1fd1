import { setTimeout as pause } from 'node:timers/promises';

import { isCancel, select, text } from '@clack/prompts';

import type { Screen } from '../terminal/screen.js';

/** Ctrl-C or Escape at a prompt. */
export const LEFT: unique symbol = Symbol('left');

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: string;
  readonly hint?: string;
}

/** Input typed before a question appeared does not answer it. */
const SETTLE_MS = 120;

/** Questions to the person at the terminal, on standard error. A signal takes a question back, as if it had been left. */
export class Prompts {
  constructor(
    private readonly screen: Screen,
    private readonly signal: AbortSignal,
  ) {}

  async choose<Value extends string>(message: string, choices: readonly Choice<Value>[]): Promise<Value | typeof LEFT> {
    await this.forgetTyped();
    const options = choices.map(({ value, label, hint }) => ({ value: value, label, ...(hint && { hint }) }));
    const chosen = await select<string>({ message, options, showInstructions: false, ...this.common() });
    return isCancel(chosen) ? LEFT : (chosen as Value); // one of the choices
  }

  /** `check` gives what is wrong with a text. */
  async line(
    message: string,
    { initial = '', check = () => undefined }: { initial?: string; check?: (text: string) => string | undefined } = {},
  ): Promise<string | typeof LEFT> {
    const typed = await text({
      message,
      ...(initial !== '' && { initialValue: initial }),
      validate: (value) => check(value ?? ''),
      ...this.common(),
    });
    return isCancel(typed) ? LEFT : typed;
  }

  private common() {
    const { input, errors } = this.screen;
    // A terminal's input is a readable stream of Node.
    return { input: input as NodeJS.ReadStream, output: errors, signal: this.signal };
  }

  private async forgetTyped(): Promise<void> {
    const { input } = this.screen;
    const forget = () => undefined;
    input.setRawMode?.(true);
    input.on('data', forget);
    await pause(SETTLE_MS);
    input.off('data', forget);
    input.pause();
    input.setRawMode?.(false);
  }
}
