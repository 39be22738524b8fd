import type { AdjustmentTerms } from '../domain/events/adjustment-events.ts';
import type { OutflowFacts } from '../domain/events/treasury-move-events.ts';
import type { JournalPlace } from '../domain/events/transaction-draft.ts';
import type { Mode } from '../domain/ids.ts';
import type { Network } from '../domain/networks.ts';
import type { OutgoingTransaction } from './outgoing.ts';
import type { SettlementDestination, SignerRefusal } from './outgoing-signer.ts';

/** How an approver is known to the signer. One person may have several; names tell people apart. */
export type ApproverKey =
  | { readonly name: string; readonly kind: 'ed25519'; /** 32 bytes, base64url. */ readonly publicKey: string }
  | {
      readonly name: string;
      /** A passkey on P-256 or Ed25519. */
      readonly kind: 'webauthn';
      readonly credentialId: string;
      /** COSE, base64url. */
      readonly publicKey: string;
      readonly rpId: string;
      readonly origin: string;
    };

/** How far a ledger is on a network. */
export interface LedgerPlace {
  readonly network: Network;
  readonly place: JournalPlace;
}

export type ProposedAdjustment = Omit<AdjustmentTerms, 'proposedBy'>;

/** What wants two approvers. Who proposed it is none of them. */
export type ApprovalAct =
  /** A refund is proposed by its merchant, whatever is said. */
  | { readonly kind: 'transaction'; readonly order: OutgoingTransaction; readonly proposedBy: string }
  | { readonly kind: 'settlement_address'; readonly destination: SettlementDestination; readonly proposedBy: string }
  | {
      readonly kind: 'resume';
      readonly mode: Mode;
      /** Where the ledger is on networks whose journal is lost; what the signer's journal holds changes nothing. */
      readonly anew: readonly LedgerPlace[];
      readonly proposedBy: string;
    }
  | {
      readonly kind: 'acknowledge';
      readonly mode: Mode;
      readonly network: Network;
      readonly outflowKeys: readonly string[];
      readonly reason: string;
      readonly proposedBy: string;
    }
  /** That a payment of the journal is written into a ledger that lost it. */
  | {
      readonly kind: 'take_over';
      readonly mode: Mode;
      readonly network: Network;
      readonly txHash: string;
      readonly reason: string;
      readonly proposedBy: string;
      /** Who asked for the payment, where the ledger still knows: nobody approves a payment of their own. */
      readonly requestedBy: string | null;
    }
  /** An entry that people post to the books by hand. */
  | { readonly kind: 'adjustment'; readonly adjustment: ProposedAdjustment; readonly proposedBy: string }
  /** The limits that the signer was started with, where they allow more than those in force. */
  | { readonly kind: 'limits'; readonly mode: Mode; readonly proposedBy: string };

/** The whole text that is signed, and the number in it: good for one approval, for some minutes. */
export interface ApprovalText {
  readonly text: string;
  readonly number: string;
}

/** `done`: nothing is left to approve. */
export type ApprovalTerms =
  | ({ readonly ok: true; readonly done: false } & ApprovalText)
  | { readonly ok: true; readonly done: true; readonly approvers: readonly string[] }
  | SignerRefusal;

export type ApprovalProof =
  /** Base64url, over the text in UTF-8. */
  | { readonly kind: 'ed25519'; readonly signature: string }
  /** What `navigator.credentials.get` answered for the challenge SHA-256 of the text; as JSON. */
  | { readonly kind: 'webauthn'; readonly response: WebAuthnAssertion };

export interface WebAuthnAssertion {
  readonly id: string;
  readonly rawId: string;
  readonly type: 'public-key';
  readonly response: {
    readonly clientDataJSON: string;
    readonly authenticatorData: string;
    readonly signature: string;
    readonly userHandle?: string;
  };
  readonly clientExtensionResults: Readonly<Record<string, unknown>>;
  readonly authenticatorAttachment?: 'platform' | 'cross-platform';
}

export interface Approval {
  readonly approver: string;
  readonly number: string;
  readonly proof: ApprovalProof;
}

/** `done`: two people agreed. */
export type ApprovalVerdict =
  | { readonly ok: true; readonly approvers: readonly string[]; readonly done: boolean }
  | SignerRefusal;

/** The signer's side of what two people must want. */
export interface ApprovalSigner {
  approvalTerms(act: ApprovalAct): Promise<ApprovalTerms>;
  approve(act: ApprovalAct, approval: Approval): Promise<ApprovalVerdict>;
  /** The treasury's network stands still until two people explained each. Known ones change nothing. */
  reportOutflows(
    mode: Mode,
    network: Network,
    outflows: readonly OutflowFacts[],
  ): Promise<SignerRefusal | { readonly ok: true }>;
}
