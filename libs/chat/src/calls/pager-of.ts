import { type OfferedTool, resolveOffered, type WorkspaceTools } from '#tools';

/** Reads on where a result was cut. */
const pagerName = 'read_tool_output';

/** The tool that is offered beside the others once a result was cut; undefined: the workspace has none. */
export function pagerOf(tools: WorkspaceTools): OfferedTool | undefined {
  const definition = tools.definitionOf(pagerName);
  return definition === undefined ? undefined : resolveOffered([definition], tools)[0];
}
