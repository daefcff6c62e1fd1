import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A text that must not be printed. `toString`, `toJSON` and Node's inspect all give `[redacted]`, and the value is a private
 * field, so that serializers do not meet it. Only what sends it to its owner calls `reveal`.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The text itself. Do not keep, log or concatenate the result beyond the call that needs it. */
  reveal(): string {
    return this.#value;
  }

  /** The last four characters, for people to tell keys apart; fewer than 12 characters give none away. */
  hint(): string {
    return this.#value.length < 12 ? '' : this.#value.slice(-4);
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
