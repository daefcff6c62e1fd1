import { createHash } from 'node:crypto';

import type { Model, ModelTarget } from '../model/model.js';
import { type BreakerOptions, ProviderBreaker } from './provider-breaker.js';

/** Tenants choose endpoints, keys and models, so the number of breakers is bounded. */
const defaultMaxBreakers = 5_000;

/**
 * The circuit breakers of this process, one for each endpoint, key and model: a rate limit belongs to a key, and a router such as
 * OpenRouter loses one model while the others answer. Other processes learn of an outage by their own requests.
 */
export class ProviderBreakers {
  /** In order of use, the least recently used first. */
  private readonly breakers = new Map<string, ProviderBreaker>();

  /** `failures` 0: no breaker, every request is sent. */
  constructor(
    private readonly options: BreakerOptions,
    private readonly maxBreakers = defaultMaxBreakers,
  ) {}

  /** The model, wrapped by its breaker. */
  guard(model: Model, target: ModelTarget & { readonly modelName: string }): Model {
    return this.options.failures === 0 ? model : withBreaker(model, this.of(target));
  }

  private of({ baseUrl, apiKey, modelName }: ModelTarget & { readonly modelName: string }): ProviderBreaker {
    const name = createHash('sha256')
      .update(JSON.stringify([baseUrl, apiKey?.reveal() ?? null, modelName]))
      .digest('base64');
    const breaker = this.breakers.get(name) ?? this.create();
    this.breakers.delete(name);
    this.breakers.set(name, breaker);
    return breaker;
  }

  private create(): ProviderBreaker {
    if (this.breakers.size >= this.maxBreakers) this.evict();
    return new ProviderBreaker(this.options);
  }

  /** Evicts closed breakers first: if an open breaker were evicted, requests to a provider that is down would start again. */
  private evict(): void {
    const [oldest] = this.breakers.keys();
    const name = this.oldestClosed() ?? oldest;
    if (name !== undefined) this.breakers.delete(name);
  }

  private oldestClosed(): string | undefined {
    for (const [name, breaker] of this.breakers) if (breaker.isClosed) return name;
    return undefined;
  }
}

/** The breaker counts only the first part of each stream: a provider that has begun to respond is not down. */
function withBreaker(model: Model, breaker: ProviderBreaker): Model {
  return {
    async *stream(request, signal) {
      const parts = model.stream(request, signal)[Symbol.asyncIterator]();
      const begin = () => parts.next();
      try {
        let next = await (request.evenIfPaused === true ? breaker.runAnyway(begin) : breaker.run(begin));
        for (; next.done !== true; next = await parts.next()) yield next.value;
      } finally {
        await parts.return?.();
      }
    },
  };
}
