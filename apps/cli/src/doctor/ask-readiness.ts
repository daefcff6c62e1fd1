/** The response of `/readyz`, or that there is none. */
export type Readiness =
  | {
      readonly type: 'answered';
      readonly draining: boolean;
      readonly database: boolean | undefined;
      readonly bus: boolean | undefined;
      readonly tookMs: number;
    }
  | { readonly type: 'silent'; readonly why: string };

const TIMEOUT_MS = 5_000;

/** Asks without a credential, as a load balancer would. */
export async function askReadiness(url: string): Promise<Readiness> {
  const startedAt = performance.now();
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const body: unknown = await response.json();
    if (typeof body !== 'object' || body === null || !('status' in body)) {
      return { type: 'silent', why: `it responds with status ${response.status}, but not as Nightshift does` };
    }
    const flag = (name: string) => {
      const value = (body as Readonly<Record<string, unknown>>)[name]; // an object, as checked above
      return typeof value === 'boolean' ? value : undefined;
    };
    const tookMs = Math.round(performance.now() - startedAt);
    return {
      type: 'answered',
      draining: flag('draining') ?? false,
      database: flag('database'),
      bus: flag('bus'),
      tookMs,
    };
  } catch (error) {
    return { type: 'silent', why: reasonOf(error) };
  }
}

/** `fetch` reports "fetch failed" and hides the reason in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no response within ${TIMEOUT_MS / 1_000} s`;
  if (error instanceof SyntaxError) return 'it responds, but not as Nightshift does';
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return cause.message === '' && 'code' in cause ? String(cause.code) : cause.message;
}
