import { createHash } from 'node:crypto';

const style = `
:root { color-scheme: light dark; --text: #1c1f24; --dim: #5a6270; --link: #0b5cad; --code: #eef0f3; --page: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e3e6eb; --dim: #9aa3b0; --link: #7db7ff; --code: #23272e; --page: #16181d; }
}
body { margin: 0 auto; max-width: 44rem; padding: 3rem 1.5rem; font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--page); }
h1 { margin: 0 0 0.5rem; font-size: 1.6rem; }
h2 { margin: 2rem 0 0.5rem; font-size: 1.1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.4rem 1.25rem; margin: 0; }
dd { margin: 0; }
p { margin: 0 0 0.5rem; }
a { color: var(--link); }
code { padding: 0.1em 0.3em; border-radius: 4px; font: 0.9em ui-monospace, Menlo, Consolas, monospace; background: var(--code); }
.dim { color: var(--dim); }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: 0.6rem } }
`;

/** Allows the style of the page by its hash, and nothing else but the empty icon. */
export const rootPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The page that browsers get at `/`. It is the same for every caller and contains no data of users. */
export function rootHtml(hasExplorer: boolean): string {
  const explorer = hasExplorer
    ? `<dt><a href="/graphql">/graphql</a></dt>
      <dd>the GraphQL explorer: write queries, read the schema, follow subscriptions</dd>`
    : '<dt><code>/graphql</code></dt><dd>GraphQL, for clients</dd>';
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Nightshift</title>
    <link rel="icon" href="data:," />
    <style>${style}</style>
  </head>
  <body>
    <h1>Nightshift is running</h1>
    <p class="dim">Background jobs of language models with tools.</p>
    <h2>Open in this browser</h2>
    <dl>
      ${explorer}
      <dt><a href="/docs">/docs</a></dt>
      <dd>the reference of the REST and OpenAI routes (<a href="/openapi.json">openapi.json</a>)</dd>
      <dt><a href="/readyz">/readyz</a></dt>
      <dd>whether the server accepts work</dd>
    </dl>
    <h2>Use from a program</h2>
    <dl>
      <dt><code>/graphql</code></dt>
      <dd>GraphQL over HTTP and WebSocket</dd>
      <dt><code>/v1</code></dt>
      <dd>the base URL of any OpenAI SDK; API keys only</dd>
      <dt><code>/api</code></dt>
      <dd>REST and SSE, for example <code>/api/jobs</code></dd>
    </dl>
    <h2>Get a key</h2>
    <p>Requests for data need the header <code>Authorization: Bearer &lt;API key or token&gt;</code>.</p>
    <p>
      <code>npm start</code> and <code>npx nightshift serve</code> create a demo workspace and store its key in
      <code>.nightshift/demo-api-key</code>, in the folder where you ran the command.
    </p>
    <h2>Read on</h2>
    <p>
      <code>README.md</code> has the first examples, <code>docs/clients.md</code> describes the APIs and keys, and
      <code>docs/cli.md</code> the command line.
    </p>
  </body>
</html>
`;
}
