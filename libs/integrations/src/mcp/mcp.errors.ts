import { AppError } from '#platform';

/** An invalid field of the input. */
export function mcpInputInvalid(field: string, problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `${field}: ${problem}`, field });
}

/** Only the operator can allow commands of tenants on this machine. */
export function mcpStdioDisabled(): AppError {
  const message =
    'This server does not start processes of MCP servers. Use an MCP server over HTTP, or ask the operator to set MCP_STDIO.';
  return new AppError({ code: 'mcp_stdio_disabled', message, field: 'stdio' });
}

/** Hides from a caller without access whether the server exists. */
export function mcpServerNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'MCP server not found or unauthorized' });
}

/** Names are unique in a workspace, because they are the prefix of tool names. */
export function mcpNameTaken(name: string): AppError {
  return new AppError({
    code: 'conflict',
    message: `An MCP server named "${name}" already exists. Choose another name.`,
    field: 'name',
  });
}

/** The limit keeps lists short. */
export function tooManyMcpServers(limit: number): AppError {
  return new AppError({
    code: 'conflict',
    message: `A workspace can have at most ${limit} MCP servers. Remove one first.`,
  });
}

/** The MCP server lists no tool with this name. */
export function mcpToolNotFound(name: string): AppError {
  return new AppError({ code: 'not_found', message: `The MCP server lists no tool named "${name}"`, field: 'names' });
}

/** The tool cannot be offered, even if an admin accepts it. */
export function mcpToolUnusable(name: string, problem: string): AppError {
  const message = `The tool "${name}" cannot be offered: ${problem}`;
  return new AppError({ code: 'bad_request', message, field: 'names' });
}

/** The current definition differs from the reviewed one. */
export function mcpToolChanged(name: string): AppError {
  const message = `The definition of "${name}" has changed. Review it again`;
  return new AppError({ code: 'conflict', message, field: 'seen' });
}
