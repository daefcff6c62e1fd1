import { AppError } from '#platform';

/** A member of the input that is wrong in itself. */
export function mcpInputInvalid(field: string, problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `${field}: ${problem}`, field });
}

/** Only the operator decides whether commands of tenants run on this machine. */
export function mcpStdioDisabled(): AppError {
  const message =
    'MCP servers that are processes are switched off here. Use one over HTTP, or ask the operator (MCP_STDIO).';
  return new AppError({ code: 'mcp_stdio_disabled', message, field: 'stdio' });
}

/** Absent and forbidden look the same. */
export function mcpServerNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'MCP server not found or unauthorized' });
}

/** Names tell servers apart, and are the beginning of their tools' names. */
export function mcpNameTaken(name: string): AppError {
  return new AppError({ code: 'conflict', message: `An MCP server called "${name}" exists already`, field: 'name' });
}

/** The cap is there so that lists need few pages. */
export function tooManyMcpServers(limit: number): AppError {
  return new AppError({ code: 'conflict', message: `A workspace can have ${limit} MCP servers: remove one first` });
}

/** The server lists no tool of that name. */
export function mcpToolNotFound(name: string): AppError {
  return new AppError({ code: 'not_found', message: `The server lists no tool called "${name}"`, field: 'names' });
}

/** No model can be offered this tool, even if an admin accepts it. */
export function mcpToolUnusable(name: string, problem: string): AppError {
  const message = `The tool "${name}" cannot be offered: ${problem}`;
  return new AppError({ code: 'bad_request', message, field: 'names' });
}

/** What would be accepted is not what was looked at. */
export function mcpToolMoved(name: string): AppError {
  const message = `The definition of "${name}" is another one by now: look at it again`;
  return new AppError({ code: 'conflict', message, field: 'seen' });
}
