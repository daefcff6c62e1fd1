import { Inject, Injectable } from '@nestjs/common';

import { Config, LOGGER, type Logger, systemClock, TimedCache } from '#platform';

import type { Tool } from '../tool.js';
import { ToolIsolationRepository } from './tool-isolation.repository.js';

/** How long a process may use the previous mode after a workspace changed it, ms. */
const freshMs = 1_000;
const maxRemembered = 1_000;
/** How often a process looks for tool processes while it sends calls to them, ms. */
const checkMs = 60_000;

const NO_TOOL_PROCESS =
  'No process runs isolated tool calls: they end as timed_out after TOOL_QUEUE_TTL_MS. Start a process with --role tools.';

/** Where the calls of server tools run: the stricter of the installation's mode and the workspace's. */
@Injectable()
export class ToolIsolation {
  private readonly chosen = new TimedCache<boolean>({
    ...{ clock: systemClock, ttlMs: freshMs, max: maxRemembered },
  });

  private readonly checked = new TimedCache<boolean>({ clock: systemClock, ttlMs: checkMs, max: 1 });

  constructor(
    private readonly repository: ToolIsolationRepository,
    private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Whether a call of this tool goes to the tool processes. Rejects when the mode of the workspace cannot be read. */
  async sendsToQueue(workspaceId: string, { isolation, workerOnly }: Tool): Promise<boolean> {
    if (isolation === 'job') return false;
    if (isolation === 'worker' && (workerOnly || !(await this.isolatesAll(workspaceId)))) return false;
    void this.checked.get('', () => this.check());
    return true;
  }

  /** Whether every call of the workspace goes to the tool processes. A lower ceiling also applies to workspaces that chose a stricter mode before. */
  async isolatesAll(workspaceId: string): Promise<boolean> {
    const { TOOL_ISOLATION, TOOL_ISOLATION_CEILING } = this.config.values;
    if (TOOL_ISOLATION === 'queue') return true;
    if (TOOL_ISOLATION_CEILING !== 'queue') return false;
    return this.chosen.get(workspaceId, () => this.repository.isChosenBy(workspaceId));
  }

  /** Logs a warning if no process takes calls, because they end only after TOOL_QUEUE_TTL_MS. Never rejects. */
  private async check(): Promise<boolean> {
    const isServed = await this.hasToolProcess().catch(() => true);
    if (!isServed) this.logger.warn(NO_TOOL_PROCESS);
    return isServed;
  }

  /** A warning for the operator. Null: none. Rejects when the database does not respond. */
  async warning(): Promise<string | null> {
    const isNeeded = this.config.values.TOOL_ISOLATION === 'queue';
    return isNeeded && !(await this.hasToolProcess()) ? NO_TOOL_PROCESS : null;
  }

  /** Whether a process runs such calls now. */
  hasToolProcess(): Promise<boolean> {
    return this.repository.hasToolProcess();
  }
}
