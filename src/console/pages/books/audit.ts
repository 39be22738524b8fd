import { html } from '../../../runtime/http/html.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { code, facts, field } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { forScript, words } from '../../words.ts';

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

/** What the script says that verifies a file. */
const VERIFIER = forScript({
  no_file: words`Choose a file first.`,
  reading: words`Reading …`,
  progress: words`{0} of {1} events …`,
  proof_holds: words`The proof holds: {0} events of {1} are in the event log of {2} events that the key signed.`,
  whole_stream_holds: words`The proof holds: {0} events of {1} are in the event log of {2} events that the key signed, and
    none of them is left out.`,
  export_holds: words`The export holds: {0} events, each unchanged and in its place, as {1} signed checkpoints say.`,
  fault: words`It does not hold: {0}.`,
  no_key: words`the public key is none: it looks like name+12345678+base64`,
  broken_key: words`the public key does not hold together`,
  other_checkpoint: words`the checkpoint is not one of this key`,
  unsigned_checkpoint: words`the checkpoint is not signed by this key`,
  not_covered: words`no checkpoint covers the payment yet`,
  other_payment: words`event {0} of the event log is of another payment`,
  other_event: words`event {0} of the event log is not what is said of it`,
  out_of_order: words`event {0} of the event log is out of its order`,
  missing_before: words`events before event {0} of the event log are missing`,
  not_in_log: words`event {0} is not in the event log that the checkpoint signs`,
  not_proven: words`it does not hold the events that it says it proves`,
  missing: words`event {0} is missing`,
  changed: words`event {0} was changed: its hash is another`,
  does_not_follow: words`event {0} does not follow the event before it in {1}`,
  other_history: words`history up to event {0} is not what was signed`,
  too_few: words`a checkpoint signs {0} events, and only {1} are here`,
  no_checkpoint: words`no checkpoint signs any of it: paste the one that you keep`,
});

const body = (status: AuditStatus, key: string | null, checkpoint: string | null) =>
  html`${facts([
      [words`Event log`, status.read_only ? words`read-only: ${status.reason}` : words`writable`],
      [words`Events under the newest checkpoint`, status.checkpoint_size],
      [words`Public key`, code(key)],
    ])}
    <h2>${words`Verify a file`}</h2>
    <p>
      ${words`Choose a proof or an export. A script that shares no code with the service checks it in this browser, and the file
      stays on your device. Use the public key that you have on record, not the one shown on this page.`}
    </p>
    <form class="form" data-verify data-words="${VERIFIER}">
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
