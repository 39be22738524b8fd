// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// A stablecoin for the sandbox with the habits of the real ones on TRON: as Tether it answers `false` on success, keeps a
/// blacklist of senders and can be paused, so nobody gets used to a friendlier token.
contract SandboxTrc20 {
    string public name;
    string public symbol;
    uint8 public constant decimals = 6;
    uint256 public totalSupply;
    address public immutable owner;
    bool private immutable answer;
    bool public paused;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => bool) public isBlackListed;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    modifier onlyOwner() {
        require(msg.sender == owner, "not the owner");
        _;
    }

    constructor(bool tether) {
        owner = msg.sender;
        answer = !tether;
        name = tether ? "Tether USD (sandbox)" : "USD Coin (sandbox)";
        symbol = tether ? "USDT" : "USDC";
    }

    function mint(address to, uint256 value) external onlyOwner {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function setBlackListed(address account, bool listed) external onlyOwner {
        isBlackListed[account] = listed;
    }

    function setPaused(bool value) external onlyOwner {
        paused = value;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return answer;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        require(allowed >= value, "allowance too small");
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - value;
        move(from, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function move(address from, address to, uint256 value) private {
        require(!paused, "paused");
        require(!isBlackListed[from], "sender is blacklisted");
        require(balanceOf[from] >= value, "balance too small");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}

/// Sends to many receivers in one transaction, as exchanges and relayers do; the caller approves it first.
contract SandboxBatchSender {
    event Sent(uint256 count);

    function send(address token, address[] calldata to, uint256[] calldata values) external {
        for (uint256 i = 0; i < to.length; i++) SandboxTrc20(token).transferFrom(msg.sender, to[i], values[i]);
        emit Sent(to.length);
    }
}
