import { Injectable, type OnApplicationShutdown } from '@nestjs/common';

import { AppError, Config, GuardedFetch, inRanges, OutboundError, type OutboundResponse } from '#platform';

/** A webhook as it is sent. */
export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

const maxBytes = 16_384;

/** Failures of the address itself: nothing was sent, and another attempt would not be either. */
const refusals = new Set(['address_refused', 'outbound_url_refused', 'outbound_port_refused', 'outbound_host_refused']);

/** The setting that allows what the guard refused. */
const settings: Readonly<Partial<Record<OutboundError['code'], string>>> = {
  address_refused: 'The operator can allow a private range with WEBHOOKS_ALLOW_CIDRS.',
  outbound_port_refused: 'The operator can allow more ports with OUTBOUND_PORTS.',
};

/** The client of webhooks: guarded like that of tools, https unless WEBHOOKS_ALLOW_HTTP, and no redirects. */
@Injectable()
export class WebhookClient implements OnApplicationShutdown {
  private readonly guarded: GuardedFetch;
  private readonly allowsHttp: boolean;

  constructor({ values }: Config) {
    const allowPrivate = inRanges(values.WEBHOOKS_ALLOW_CIDRS);
    this.guarded = new GuardedFetch({ allowPrivate, ports: values.OUTBOUND_PORTS });
    this.allowsHttp = values.WEBHOOKS_ALLOW_HTTP;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.guarded.close();
  }

  /** Throws `bad_request` if nothing may be sent to `url`. Resolves its host, so that a private address is found when it is saved. */
  async check(url: string): Promise<void> {
    const problem = this.problemOf(url);
    if (problem !== null) throw urlInvalid(problem);
    try {
      await this.guarded.check(url);
    } catch (error) {
      if (error instanceof OutboundError && isBlocked(error))
        throw urlInvalid([error.message, settings[error.code] ?? []].flat().join(' '));
    }
  }

  /** Sends it and reads at most 16 KiB of the answer. Throws `OutboundError`. */
  post({ url, headers, body, timeoutMs }: WebhookRequest): Promise<OutboundResponse> {
    const problem = this.problemOf(url);
    if (problem !== null) throw new OutboundError({ code: 'outbound_url_refused', message: problem });
    const limits = {
      ...{ maxBytes, maxRedirects: 0 },
      ...{ firstByteMs: timeoutMs, idleMs: timeoutMs, totalMs: timeoutMs },
    };
    return this.guarded.request({ method: 'POST', url, headers, body, limits });
  }

  private problemOf(text: string): string | null {
    const url = URL.parse(text);
    if (url === null) return 'The URL is not valid. Use an absolute URL that begins with https://.';
    if (url.hash !== '') return 'The URL must not have a fragment. Remove the part after #.';
    if (url.protocol === 'https:' || (url.protocol === 'http:' && this.allowsHttp)) return null;
    return 'The URL must begin with https://. The operator can allow http:// with WEBHOOKS_ALLOW_HTTP.';
  }
}

/** Whether the guard refused the request. A name that does not exist may exist later. */
export function isBlocked({ code, cause }: OutboundError): boolean {
  return refusals.has(code) && !(code === 'address_refused' && cause !== undefined);
}

function urlInvalid(message: string): AppError {
  return new AppError({ code: 'bad_request', message, field: 'url' });
}
