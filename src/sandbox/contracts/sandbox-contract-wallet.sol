// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// A wallet that is code, as a multisignature wallet or the hot wallet of a service is: what it pays comes from the contract's own
/// address. Anybody may have it pay, since it holds test money only.
contract SandboxContractWallet {
    function pay(address token, address to, uint256 value) external {
        (bool done,) = token.call(abi.encodeWithSignature("transfer(address,uint256)", to, value));
        require(done, "the token refused the payment");
    }
}
