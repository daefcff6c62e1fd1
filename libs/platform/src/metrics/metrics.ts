import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

let defaultRegistry: Registry | undefined;

/**
 * prom-client's default metrics (`process_*`, `nodejs_*`). prom-client cannot stop its observers, which would keep each closed platform in
 * memory, so all platforms of a process share one registry.
 */
function defaultMetrics(): Registry {
  if (defaultRegistry === undefined) {
    defaultRegistry = new Registry();
    collectDefaultMetrics({ register: defaultRegistry });
  }
  return defaultRegistry;
}

/** The Prometheus metrics of a platform. Names are documented in docs/metrics.md; ids are never labels. */
export class Metrics {
  readonly registry = new Registry();
  private readonly defaults = defaultMetrics();

  /** All metrics, including the default ones, in the Prometheus text format. */
  text(): Promise<string> {
    return Registry.merge([this.defaults, this.registry]).metrics();
  }

  counter<L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  gauge<L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> {
    return new Gauge({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  /** A gauge whose values `fill` counts at each scrape by Prometheus. */
  gaugeOnScrape<L extends string>(
    name: string,
    help: string,
    options: { readonly labelNames: readonly L[]; readonly fill: (gauge: Gauge<L>) => Promise<void> },
  ): void {
    const gauge: Gauge<L> = new Gauge({
      name,
      help,
      labelNames: [...options.labelNames],
      registers: [this.registry],
      collect: () => options.fill(gauge),
    });
  }

  histogram<L extends string = never>(
    name: string,
    help: string,
    options: { buckets: number[]; labelNames?: readonly L[] },
  ): Histogram<L> {
    return new Histogram({
      name,
      help,
      buckets: options.buckets,
      labelNames: [...(options.labelNames ?? [])],
      registers: [this.registry],
    });
  }
}
