import { Inject, Injectable } from '@nestjs/common';

import { LOGGER, type Logger, systemClock } from '#platform';
import { PluginRegistry, type ShownPlugin, ToolIsolation } from '#tools';

import { BusProbe } from './bus-probe.js';
import { HealthRepository } from './health.repository.js';

/** The body of `/readyz`. */
export interface ReadinessReport {
  readonly status: 'ready' | 'not_ready';
  readonly draining: boolean;
  /** The database is reachable and has the tables of this build. */
  readonly database: boolean;
  readonly bus: boolean;
  /** What the operator should change; the process accepts requests nevertheless. */
  readonly warnings: readonly string[];
  readonly plugins: readonly ShownPlugin[];
}

/** How long a result is cached, so that frequent checks cost the database nothing. */
const rememberedMs = 1_000;

/** Whether this process accepts requests. */
@Injectable()
export class Readiness {
  private draining = false;
  private known: { readonly at: number; readonly parts: Promise<Parts> } | undefined;

  constructor(
    private readonly database: HealthRepository,
    private readonly bus: BusProbe,
    private readonly registry: PluginRegistry,
    private readonly isolation: ToolIsolation,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Reports "not ready" from now on. It cannot be undone. */
  drain(): void {
    this.draining = true;
  }

  async report(): Promise<ReadinessReport> {
    const plugins = this.registry.shown();
    if (this.draining) return { status: 'not_ready', draining: true, database: true, bus: true, warnings: [], plugins };
    const parts = await this.parts();
    return { status: parts.database && parts.bus ? 'ready' : 'not_ready', draining: this.draining, ...parts, plugins };
  }

  private parts(): Promise<Parts> {
    const now = systemClock.monotonic();
    if (this.known === undefined || now - this.known.at >= rememberedMs) this.known = { at: now, parts: this.ask() };
    return this.known.parts;
  }

  private async ask(): Promise<Parts> {
    const [database, bus, warning] = await Promise.all([
      this.isDatabaseUsable(),
      this.bus.isAlive(),
      this.isolation.warning().catch(() => null), // `database` reports it
    ]);
    return { database, bus, warnings: warning === null ? [] : [warning] };
  }

  private async isDatabaseUsable(): Promise<boolean> {
    try {
      await this.database.assertUsable();
      return true;
    } catch (err) {
      this.logger.warn({ err }, 'the database cannot be used');
      return false;
    }
  }
}

interface Parts {
  readonly database: boolean;
  readonly bus: boolean;
  readonly warnings: readonly string[];
}
