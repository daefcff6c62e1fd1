import { NightshiftError } from './nightshift-error.js';

/** The source of tokens: a fixed token, or a function that the client calls again when the last token has ended. */
export type TokenSource =
  | { readonly token: string; readonly getToken?: never }
  | { readonly getToken: () => string | Promise<string>; readonly token?: never };

/** The client stops using a token this long before its end, so that it does not expire during a request. */
const marginMs = 5_000;

interface Held {
  readonly token: string;
  /** Null: the token does not contain its end. */
  readonly endsAt: number | null;
}

/** The current token. Callers that need one while a refresh is pending wait for the new token. */
export class Credentials {
  private held: Held | undefined;
  private asked: Promise<Held> | undefined;

  constructor(
    private readonly source: TokenSource,
    private readonly now: () => number = Date.now,
  ) {}

  /** Throws `token_unavailable` if the application returns no token. */
  async token(): Promise<string> {
    const { held } = this;
    if (held !== undefined && (held.endsAt === null || this.now() < held.endsAt)) return held.token;
    this.asked ??= this.ask().finally(() => {
      this.asked = undefined;
    });
    return (await this.asked).token;
  }

  /** The server rejected this token, so the client does not use it again. Returns whether the source may have another token. */
  refuse(token: string): boolean {
    if (this.source.getToken === undefined) return false;
    if (this.held?.token === token) this.held = undefined;
    return true;
  }

  private async ask(): Promise<Held> {
    try {
      const token = this.source.getToken === undefined ? this.source.token : await this.source.getToken();
      this.held = { token, endsAt: this.endOf(token) };
      return this.held;
    } catch (cause) {
      throw new NightshiftError('The credentials contain no token', { code: 'token_unavailable', cause });
    }
  }

  /** The end of a JWT on the local clock. It uses only the lifetime of the token, so a wrong clock does no harm. */
  private endOf(token: string): number | null {
    if (this.source.getToken === undefined) return null;
    const { iat, exp } = claimsOf(token);
    if (typeof iat !== 'number' || typeof exp !== 'number') return null;
    const lifeMs = (exp - iat) * 1_000;
    return this.now() + lifeMs - Math.min(marginMs, lifeMs / 2);
  }
}

/** The claims of a JWT, not verified. Empty for any other token. */
function claimsOf(token: string): { readonly iat?: unknown; readonly exp?: unknown } {
  const [, body = ''] = token.split('.');
  try {
    const claims: unknown = JSON.parse(atob(body.replaceAll('-', '+').replaceAll('_', '/')));
    return typeof claims === 'object' && claims !== null ? claims : {};
  } catch {
    return {};
  }
}
