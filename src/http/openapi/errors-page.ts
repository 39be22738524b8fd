import { ERRORS } from '../../domain/errors.ts';
import { keysOf } from '../../domain/values/keys-of.ts';

/** The error catalogue as Markdown: `node src/http/openapi/errors-page.ts > docs/errors.md`. */
export function errorsPage(): string {
  const codes = keysOf(ERRORS);
  const rows = codes.map(
    (code) =>
      `| <a id="${code}"></a>\`${code}\` | ${ERRORS[code].status} | ${ERRORS[code].meaning} | ${ERRORS[code].action} |`,
  );
  return `# Errors

Generated from \`src/domain/errors.ts\`; a test keeps this page current.

Every error has the same form. \`code\` is stable, \`message\` is for people and may change, \`param\` names the field, header
or query parameter at fault (nested fields with their path, such as \`line_items[0].quantity\`), and \`request_id\`
identifies the request to support; every response has it in the \`X-Request-Id\` header. \`doc_url\` links to the
installation's explanation of the code (\`/docs/errors#code\`); the link is stable.

\`\`\`json
{ "error": { "code": "invalid_request", "message": "amount must be a decimal string ...", "param": "amount", "request_id": "req_...",
             "doc_url": "https://pay.example/docs/errors#invalid_request" } }
\`\`\`

- Every authentication failure returns the same 401, whatever was wrong, so that nobody learns which keys exist. If the
  key is a test-mode key, the header \`Quittance-Authentication-Fault\` names the check that failed: \`header_missing\`,
  \`header_malformed\`, \`timestamp\`, \`signature\`, \`nonce_used\`, \`signature_version\` or \`address\`. Without that header the
  key is unknown or a live key.
- An id that does not exist, is malformed, or belongs to another merchant or the other mode returns the same 404.
- \`429\` and \`503\` responses carry \`Retry-After\` in seconds; every authenticated response carries \`RateLimit-Limit\`,
  \`RateLimit-Remaining\` and \`RateLimit-Reset\`.
- A retry needs a new timestamp, nonce and signature. A create is safe to repeat with its \`order_id\`, every POST with its
  \`Idempotency-Key\`.

| Code | Status | Meaning | What to do |
|---|---|---|---|
${rows.join('\n')}
`;
}

if (import.meta.main) process.stdout.write(errorsPage());
