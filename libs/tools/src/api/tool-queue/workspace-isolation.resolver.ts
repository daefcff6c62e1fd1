import { Parent, ResolveField, Resolver } from '@nestjs/graphql';

import { WorkspaceModel } from '#auth/api';

import { ToolIsolation } from '../../isolation/tool-isolation.js';

/** Where the calls of a workspace run, as a field of the workspace. */
@Resolver(() => WorkspaceModel)
export class WorkspaceIsolationResolver {
  constructor(private readonly isolation: ToolIsolation) {}

  @ResolveField(() => Boolean, {
    description:
      "Whether all calls of server tools run in tool processes, because `toolIsolation` or the installation's setting requires it.",
  })
  isolatesAllTools(@Parent() { id }: WorkspaceModel): Promise<boolean> {
    return this.isolation.isolatesAll(id);
  }

  @ResolveField(() => Boolean, {
    description:
      'Whether a process runs isolated calls now. If false, they wait, and end as `timed_out` after TOOL_QUEUE_TTL_MS.',
  })
  hasToolProcess(): Promise<boolean> {
    return this.isolation.hasToolProcess();
  }
}
