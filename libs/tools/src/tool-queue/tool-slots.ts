/** What a slot is taken for. */
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

/** The slots of a tool process. A tool, or a workspace, that is at its limit leaves the other slots to the others. */
export class ToolSlots {
  private readonly tools = new Map<string, number>();
  private readonly workspaces = new Map<string, number>();
  private taken = 0;

  constructor(readonly limits: SlotLimits) {}

  get size(): number {
    return this.taken;
  }

  /** Tools at their limit. */
  get busyTools(): string[] {
    return [...this.tools].filter(([, count]) => count >= this.limits.perTool).map(([tool]) => tool);
  }

  /** Acquires a slot and returns its release, which may be called more than once. Undefined: there is none for this tool and workspace. */
  acquire({ tool, workspaceId }: Occupant): (() => void) | undefined {
    const { total, perTool, perWorkspace } = this.limits;
    const isFull =
      this.taken >= total ||
      (this.tools.get(tool) ?? 0) >= perTool ||
      (this.workspaces.get(workspaceId) ?? 0) >= perWorkspace;
    if (isFull) return undefined;
    this.change(tool, workspaceId, 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.change(tool, workspaceId, -1);
    };
  }

  private change(tool: string, workspaceId: string, by: 1 | -1): void {
    this.taken += by;
    add(this.tools, tool, by);
    add(this.workspaces, workspaceId, by);
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
