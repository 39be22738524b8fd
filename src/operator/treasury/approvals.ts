import { CommandRefused, type AdminArguments } from '../server/commands.ts';
import type { Approval, ApprovalAct, ApprovalSigner } from '../../ports/signer/approvals.ts';
import { holding } from '../../domain/values/written-json.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';

/** `to_sign` has one text per act; null where nothing is left to sign. */
type Asked = { readonly ok: false; readonly answer: JsonValue };
interface Agreed {
  readonly ok: true;
  readonly approvers: readonly string[];
  readonly done: boolean;
  /** False if the approvals given changed nothing. */
  readonly counted: boolean;
}

/** What a command answers about its approvals. */
export const approvedBy = ({ approvers, counted }: Pick<Agreed, 'approvers' | 'counted'>) => ({
  approved_by: approvers,
  counted,
});

/**
 * An approver's command is sent twice: without approvals it returns the terms to be signed, with them it counts them.
 * Throws `CommandRefused` with the signer's reason.
 */
export async function agree(
  signer: ApprovalSigner,
  acts: readonly ApprovalAct[],
  args: AdminArguments,
): Promise<Asked | Agreed> {
  const given = args['approvals'];
  if (given === undefined) return askFor(signer, acts);
  if (!Array.isArray(given) || given.length !== acts.length)
    throw new CommandRefused('approvals must be a list with one entry for each of the terms');
  const agreed: Agreed[] = [];
  for (const [index, act] of acts.entries()) {
    const approval: unknown = given[index];
    if (approval !== null && !isApproval(approval))
      throw new CommandRefused(`approvals: entry ${index + 1} is not an approval`);
    // There was nothing to sign, so it was approved before.
    const verdict = approval === null ? await signer.approvalTerms(act) : await signer.approve(act, approval);
    if (!verdict.ok) throw new CommandRefused(verdict.message);
    agreed.push({ counted: false, approvers: [], ...verdict });
  }
  return {
    ok: true,
    approvers: [...new Set(agreed.flatMap(({ approvers }) => approvers))],
    done: agreed.every(({ done }) => done),
    counted: agreed.some(({ counted }) => counted),
  };
}

/** The signer checks the rest. */
const isApproval = holding<Approval>('approver');

async function askFor(signer: ApprovalSigner, acts: readonly ApprovalAct[]): Promise<Asked | Agreed> {
  const asked: JsonValue[] = [];
  const approvers: string[] = [];
  for (const act of acts) {
    const terms = await signer.approvalTerms(act);
    if (!terms.ok) throw new CommandRefused(terms.message);
    if (terms.done) approvers.push(...terms.approvers);
    asked.push(terms.done ? null : { text: terms.text, number: terms.number });
  }
  return asked.every((terms) => terms === null)
    ? { ok: true, approvers: [...new Set(approvers)], done: true, counted: false }
    : { ok: false, answer: { to_sign: asked } };
}
