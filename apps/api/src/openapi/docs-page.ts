import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Where the page is, and what it consists of. */
export const docsPath = '/docs';

const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/** Files of the page that are served as they were published, each with its place on disk. */
export const docsFiles: ReadonlyMap<string, string> = new Map(
  ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'].map((name) => [name, join(folder, name)]),
);

/** Starts the page. It is a separate file because the page's policy forbids inline scripts. It loads the document from here only. */
export const docsScript = `window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#ui',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
`;

/** Nothing comes from elsewhere and nothing goes elsewhere; pictures of the style sheet are data in it. */
export const docsPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const docsHtml = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Nightshift API</title>
    <link rel="icon" href="${docsPath}/favicon-32x32.png" />
    <link rel="stylesheet" href="${docsPath}/swagger-ui.css" />
  </head>
  <body>
    <div id="ui"></div>
    <noscript>This page draws <a href="/openapi.json">the OpenAPI document</a> with a script.</noscript>
    <script src="${docsPath}/swagger-ui-bundle.js"></script>
    <script src="${docsPath}/page.js"></script>
  </body>
</html>
`;
