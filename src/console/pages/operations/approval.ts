import { sameName } from '../../../domain/values/names.ts';
import type { AdminArguments } from '../../../operator/server/commands.ts';
import type { JsonValue } from '../../../ports/read-model/read-model.ts';
import { parseJson } from '../../../runtime/util/parse-json.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { MAX_SIGNED, TOO_MUCH } from '../../step-up.ts';
import { reasonIn, Refused, type ChangeRoute, type Signature, type ToSign, type Visit } from '../../visit.ts';
import { words } from '../../words.ts';

/** For terms that are proposed nowhere in the service. */
export const PROPOSER = {
  name: 'proposer',
  label: words`Proposed by`,
  required: true,
  hint: words`A third person who asked for it. Both approvers enter the same name.`,
} as const;

interface Asked {
  readonly to_sign?: readonly (null | { readonly text: string; readonly number: string })[];
  readonly approved_by?: readonly string[];
  readonly counted?: boolean;
}

/** The signer writes the terms and verifies the signatures; the console passes them on unchanged. */
export function approval(
  deps: ConsoleDeps,
  path: string,
  command: string,
  argsOf: (visit: Visit) => AdminArguments,
  to = '/treasury',
): ChangeRoute {
  return {
    path,
    action: 'treasury.approve',
    target: ({ form }) => form['id'] ?? `${path.slice(path.lastIndexOf('/') + 1)} ${form['mode']}`,
    toSign: async (visit): Promise<ToSign> => {
      const kept = Object.keys(visit.form).flatMap((name) => /^number-(\d+)$/.exec(name)?.[1] ?? []);
      // Once there are signatures, the terms are not requested again: the signer knows the number that it issued.
      if (kept.length > 0) {
        const count = Math.max(...kept.map(Number)) + 1;
        if (count > MAX_SIGNED) throw new Refused(TOO_MUCH);
        return { kind: 'signer', title: 'Approve', texts: Array.from({ length: count }, () => null) };
      }
      const { to_sign: texts, approved_by: approvers = [] } = await run<Asked>(deps, command, argsOf(visit));
      if (!texts) {
        const who = approvers.join(', ');
        throw new Refused(
          who === '' ? words`Nothing is left to approve.` : words`Nothing is left to approve. Approved by: ${who}.`,
          409,
        );
      }
      return { kind: 'signer', title: 'Approve', texts };
    },
    run: async (visit, signatures) => {
      const approvals = signatures.map((signature) => signature && approvalOf(visit, signature));
      const answer = await run<Asked>(deps, command, { ...argsOf(visit), approvals });
      return { detail: JSON.stringify(answer), shown: { to: `${to}?done=${noticeOf(visit, answer)}` } };
    },
  };
}

function noticeOf({ person }: Visit, { counted = true, approved_by: approvers = [] }: Asked): string {
  if (counted) return 'approved';
  return approvers.some((name) => sameName(name, person.name)) ? 'approved-before' : 'approved-by-others';
}

interface Rejected extends Pick<ChangeRoute, 'action'> {
  readonly command: string;
  readonly title: string;
  /** A word for what is cancelled. */
  readonly what: string;
  /** Further arguments of the command. */
  readonly argumentsOf?: (visit: Visit) => AdminArguments;
}

/** Cancels a proposal that waits for approval. */
export const rejection = (
  deps: ConsoleDeps,
  page: string,
  { action, command, title, what, argumentsOf }: Rejected,
): ChangeRoute => ({
  path: `${page}/reject`,
  action,
  target: ({ form }) => form['id'] ?? '',
  toSign: async (visit) => ({
    kind: 'terms',
    title,
    lines: [
      [what, visit.form['id'] ?? ''],
      ['reason', reasonIn(visit)],
    ],
  }),
  run: async (visit) => {
    await run(deps, command, { id: visit.form['id'] ?? '', operator: visit.person.name, ...argumentsOf?.(visit) });
    return { detail: 'cancelled', shown: { to: `${page}?done=rejected` } };
  },
});

function approvalOf({ person }: Visit, { number, response }: Signature): JsonValue {
  try {
    return { approver: person.name, number, proof: { kind: 'webauthn', response: parseJson(response) } };
  } catch {
    throw new Refused(words`The signature cannot be read.`);
  }
}
