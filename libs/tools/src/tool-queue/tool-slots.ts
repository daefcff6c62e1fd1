/** Who takes up room. */
interface Occupant {
  readonly tool: string;
  readonly workspaceId: string;
}

/** How many calls may run at once: in all, of one tool, of one workspace. All >= 1. */
export interface SlotLimits {
  readonly total: number;
  readonly perTool: number;
  readonly perWorkspace: number;
}

/** The room of a tool process. A tool, or a workspace, that is at its limit leaves the rest to the others. */
export class ToolSlots {
  private readonly tools = new Map<string, number>();
  private readonly workspaces = new Map<string, number>();
  private taken = 0;

  constructor(private readonly limits: SlotLimits) {}

  get size(): number {
    return this.taken;
  }

  /** Tools without room. */
  get busyTools(): string[] {
    return busy(this.tools, this.limits.perTool);
  }

  /** Workspaces without room. */
  get busyWorkspaces(): string[] {
    return busy(this.workspaces, this.limits.perWorkspace);
  }

  /** How many calls of tools and workspaces that are not busy surely find room, whichever they are. */
  get room(): number {
    const { total, perTool, perWorkspace } = this.limits;
    return Math.min(total - this.taken, least(this.tools, perTool), least(this.workspaces, perWorkspace));
  }

  /** Takes a slot and gives the way out, which may be gone more than once. */
  enter({ tool, workspaceId }: Occupant): () => void {
    this.taken += 1;
    add(this.tools, tool, 1);
    add(this.workspaces, workspaceId, 1);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      this.taken -= 1;
      add(this.tools, tool, -1);
      add(this.workspaces, workspaceId, -1);
    };
  }
}

function busy(counts: ReadonlyMap<string, number>, limit: number): string[] {
  return [...counts].filter(([, count]) => count >= limit).map(([key]) => key);
}

/** The room of the fullest that still has some. */
function least(counts: ReadonlyMap<string, number>, limit: number): number {
  return [...counts.values()].reduce((room, count) => (count < limit ? Math.min(room, limit - count) : room), limit);
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
