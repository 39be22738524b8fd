import type { AdjustmentTerms } from '../../domain/events/adjustment-events.ts';
import type { OutflowFacts } from '../../domain/events/treasury-move-events.ts';
import type { JournalPlace } from '../../domain/events/transaction-draft.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { OutgoingTransaction } from '../outgoing/transaction.ts';
import type { SettlementDestination, SignerRefusal } from '../outgoing/signer.ts';

/** An approver's key. One person may have several; names identify people. */
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

/** The place of an event log on a network. */
export interface LogPlace {
  readonly network: Network;
  readonly place: JournalPlace;
}

export type ProposedAdjustment = Omit<AdjustmentTerms, 'proposedBy'>;

/** An action that needs two approvers other than its proposer. */
export type ApprovalAct =
  /** The proposer of a refund is always its merchant, whatever the request says. */
  | { readonly kind: 'transaction'; readonly order: OutgoingTransaction; readonly proposedBy: string }
  | { readonly kind: 'settlement_address'; readonly destination: SettlementDestination; readonly proposedBy: string }
  | {
      readonly kind: 'resume';
      readonly mode: Mode;
      /**
       * Places of the event log on networks whose journal is lost. They do not affect what the signer's journal
       * contains.
       */
      readonly anew: readonly LogPlace[];
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
  /** Writing a payment of the journal into an event log that lost it. */
  | {
      readonly kind: 'take_over';
      readonly mode: Mode;
      readonly network: Network;
      readonly txHash: string;
      readonly reason: string;
      readonly proposedBy: string;
      /** Who requested the payment, if the event log still knows: nobody approves a payment of their own. */
      readonly requestedBy: string | null;
    }
  /** A manual entry in the books. */
  | { readonly kind: 'adjustment'; readonly adjustment: ProposedAdjustment; readonly proposedBy: string }
  /** The limits with which the signer was started, if they allow more than those in force. */
  | { readonly kind: 'limits'; readonly mode: Mode; readonly proposedBy: string };

/** The complete text to sign, and its number: valid for one approval within some minutes. */
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
  /** The response of `navigator.credentials.get` to the challenge SHA-256 of the text, as JSON. */
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

/** `done`: two people approved. `counted`: this approval was the person's first, and was still needed. */
export type ApprovalVerdict =
  | { readonly ok: true; readonly approvers: readonly string[]; readonly done: boolean; readonly counted: boolean }
  | SignerRefusal;

/** The signer's methods for actions that need two people. */
export interface ApprovalSigner {
  approvalTerms(act: ApprovalAct): Promise<ApprovalTerms>;
  approve(act: ApprovalAct, approval: Approval): Promise<ApprovalVerdict>;
  /** Stops the treasury's network until two people have explained each outflow. Known ones change nothing. */
  reportOutflows(
    mode: Mode,
    network: Network,
    outflows: readonly OutflowFacts[],
  ): Promise<SignerRefusal | { readonly ok: true }>;
}
