import { html } from '../../../runtime/http/html.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { code, facts, field } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { words } from '../../words.ts';

interface AuditStatus {
  readonly read_only: boolean;
  readonly reason: string | null;
  readonly checkpoint_size: number | null;
}

/** Downloads of proofs and of the whole event log, and a check of both in the browser, by code of its own. */
export function auditRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    change: [],
    read: [
      {
        path: '/audit',
        action: 'audit.read',
        show: async () => {
          const [status, key] = await Promise.all([
            run<AuditStatus>(deps, 'audit.status'),
            run<{ verifier_key: string }>(deps, 'audit.key').catch(() => null),
          ]);
          // Without one, the command would have the signer sign the first.
          const checkpoint =
            status.checkpoint_size === null
              ? null
              : await run<{ checkpoint: string }>(deps, 'audit.checkpoint').catch(() => null);
          return {
            page: {
              title: words`Audit`,
              scripts: ['verify.js'],
              body: body(status, key?.verifier_key ?? null, checkpoint?.checkpoint ?? null),
            },
          };
        },
      },
      {
        path: '/audit/proof',
        action: 'audit.read',
        show: async ({ query }) => {
          const session = query.get('session') ?? '';
          const proof = await run(deps, 'audit.prove', { session });
          return {
            file: {
              name: `proof-${session}.json`,
              contentType: 'application/json',
              chunks: [`${JSON.stringify(proof, null, 2)}\n`],
            },
          };
        },
      },
      {
        path: '/audit/export.jsonl',
        action: 'audit.read',
        show: async () => ({
          file: { name: 'events.jsonl', contentType: 'application/jsonl; charset=utf-8', chunks: deps.exportEvents() },
        }),
      },
    ],
  };
}

const body = (status: AuditStatus, key: string | null, checkpoint: string | null) =>
  html`${facts([
      [words`Event log`, status.read_only ? `read-only: ${status.reason}` : 'writable'],
      [words`Events under the newest checkpoint`, status.checkpoint_size],
      [words`Public key`, code(key)],
    ])}
    <h2>${words`Verify a file`}</h2>
    <p>
      ${words`Choose a proof or an export. A script that shares no code with the service checks it in this browser, and the file
      stays on your device. Use the public key that you have on record, not the one shown on this page.`}
    </p>
    <form class="form" data-verify>
      <p class="field">
        <label for="file">${words`Proof (.json) or export (.jsonl)`}</label><input type="file" id="file" name="file" />
      </p>
      ${field({ name: 'key', label: words`Public key`, value: key ?? '', max: 300 })}
      <p class="field">
        <label for="checkpoint">${words`Your own checkpoint, for an export (optional)`}</label>
        <textarea id="checkpoint" name="checkpoint" rows="5" spellcheck="false"></textarea>
      </p>
      <p><button class="button">${words`Verify`}</button></p>
      <p class="notice" role="status" hidden></p>
      <p class="problem" role="alert" hidden></p>
      <noscript
        ><p class="problem">
          ${words`This check needs JavaScript. Without it, run “quittance audit verify”.`}
        </p></noscript
      >
    </form>
    <h2>${words`Download`}</h2>
    <form method="get" action="/audit/proof" class="form">
      ${field({ name: 'session', label: words`Payment`, required: true, hint: words`Its ID: cs_…` })}
      <p><button class="quiet">${words`Download its proof`}</button></p>
    </form>
    <p><a href="/audit/export.jsonl">${words`Download the whole event log as JSON Lines`}</a></p>
    ${
      checkpoint !== null &&
      html`<h3>${words`Newest checkpoint`}</h3>
        <pre class="terms" tabindex="0">${checkpoint}</pre>`
    }`;
