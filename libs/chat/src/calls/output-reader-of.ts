import { type OfferedTool, resolveOffered, type WorkspaceTools } from '#tools';

/** Reads the rest of a truncated result. */
const outputReaderName = 'read_tool_output';

/** The tool that is also offered after a result was truncated; undefined if the workspace does not have it. */
export function outputReaderOf(tools: WorkspaceTools): OfferedTool | undefined {
  const definition = tools.definitionOf(outputReaderName);
  return definition === undefined ? undefined : resolveOffered([definition], tools)[0];
}
