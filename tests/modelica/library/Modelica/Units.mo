within Modelica;
package Units "Types with units, and conversions"
  package SI
    type AbsolutePressure = Pressure(min = 0, nominal = 1e5);
    type Acceleration = Real(final quantity = "Acceleration", final unit = "m/s2");
    type ActivationEnergy = MolarInternalEnergy;
    type ActivePower = Real(final quantity = "ActivePower", final unit = "W");
    type AmountOfSubstance = Real(final quantity = "AmountOfSubstance", final unit = "mol", min = 0);
    type AmplitudeLevelDifference = Real(final quantity = "AmplitudeLevelDifference", final unit = "dB");
    type Angle = Real(final quantity = "Angle", final unit = "rad");
    type AngularAcceleration = Real(final quantity = "AngularAcceleration", final unit = "rad/s2");
    type AngularFrequency = Real(final quantity = "AngularFrequency", final unit = "rad/s");
    type AngularVelocity = Real(final quantity = "AngularVelocity", final unit = "rad/s");
    type ApparentPower = Real(final quantity = "ApparentPower", final unit = "V.A");
    type Area = Real(final quantity = "Area", final unit = "m2");
    type Capacitance = Real(final quantity = "Capacitance", final unit = "F", min = 0);
    type CapacitancePerArea = Real(final quantity = "CapacitancePerArea", final unit = "F/m2");
    type Charge = ElectricCharge;
    type CoefficientOfHeatTransfer = Real(final quantity = "CoefficientOfHeatTransfer", final unit = "W/(m2.K)");
    type Conductance = Real(final quantity = "Conductance", final unit = "S");
    type Conductivity = Real(final quantity = "Conductivity", final unit = "S/m");
    type CouplingCoefficient = Real(final quantity = "CouplingCoefficient", final unit = "1");
    type CrossSection = Area;
    type Current = ElectricCurrent;
    type CurrentDensity = Real(final quantity = "CurrentDensity", final unit = "A/m2");
    type CurrentSlope = Real(final quantity = "CurrentSlope", final unit = "A/s");
    type Damping = Real(final quantity = "Damping", final unit = "s-1");
    type Density = Real(final quantity = "Density", final unit = "kg/m3", min = 0);
    type DerDensityByEnthalpy = Real(final quantity = "DerDensityByEnthalpy", final unit = "kg.s2/m5");
    type DerDensityByPressure = Real(final quantity = "DerDensityByPressure", final unit = "s2/m2");
    type DerDensityByTemperature = Real(final quantity = "DerDensityByTemperature", final unit = "kg/(m3.K)");
    type DerEnthalpyByPressure = Real(final quantity = "DerEnthalpyByPressure", final unit = "J.m.s2/kg2");
    type DerPressureByDensity = Real(final quantity = "DerPressureByDensity", final unit = "Pa.m3/kg");
    type DerPressureByTemperature = Real(final quantity = "DerPressureByTemperature", final unit = "Pa/K");
    type Diameter = Length(min = 0);
    type Distance = Length(min = 0);
    type Duration = Time;
    type DynamicViscosity = Real(final quantity = "DynamicViscosity", final unit = "Pa.s", min = 0);
    type ElectricCharge = Real(final quantity = "ElectricCharge", final unit = "C");
    type ElectricCurrent = Real(final quantity = "ElectricCurrent", final unit = "A");
    type ElectricPotential = Real(final quantity = "ElectricPotential", final unit = "V");
    type ElectricalForceConstant = Real(final quantity = "ElectricalForceConstant", final unit = "N/A");
    type ElectricalTorqueConstant = Real(final quantity = "ElectricalTorqueConstant", final unit = "N.m/A");
    type Energy = Real(final quantity = "Energy", final unit = "J");
    type EnergyFlowRate = Power;
    type EnthalpyFlowRate = Real(final quantity = "EnthalpyFlowRate", final unit = "W");
    type Entropy = Real(final quantity = "Entropy", final unit = "J/K");
    type FaradayConstant = Real(final quantity = "FaradayConstant", final unit = "C/mol");
    type Force = Real(final quantity = "Force", final unit = "N");
    type Frequency = Real(final quantity = "Frequency", final unit = "Hz");
    type FroudeNumber = Real(final quantity = "FroudeNumber", final unit = "1");
    type GapEnergy = Real(final quantity = "GapEnergy", final unit = "eV");
    type HeatCapacity = Real(final quantity = "HeatCapacity", final unit = "J/K");
    type HeatFlowRate = Power;
    type HeatFlux = Real(final quantity = "HeatFlux", final unit = "W/m2");
    type Height = Length(min = 0);
    type Impedance = Resistance;
    type Inductance = Real(final quantity = "Inductance", final unit = "H");
    type Inertia = MomentOfInertia;
    type InstantaneousPower = Real(final quantity = "InstantaneousPower", final unit = "W");
    type InternalEnergy = Energy;
    type InversePotential = Real(final quantity = "InversePotential", final unit = "1/V");
    type IsentropicExponent = Real(final quantity = "IsentropicExponent", final unit = "1");
    type IsothermalCompressibility = Real(final quantity = "IsothermalCompressibility", final unit = "1/Pa");
    type Length = Real(final quantity = "Length", final unit = "m");
    type LinearTemperatureCoefficient = Real(final quantity = "LinearTemperatureCoefficient", final unit = "1/K");
    type LinearTemperatureCoefficientResistance = LinearTemperatureCoefficient;
    type MagneticFieldStrength = Real(final quantity = "MagneticFieldStrength", final unit = "A/m");
    type MagneticFlux = Real(final quantity = "MagneticFlux", final unit = "Wb");
    type MagneticFluxDensity = Real(final quantity = "MagneticFluxDensity", final unit = "T");
    type MagneticPotential = Real(final quantity = "MagneticPotential", final unit = "A");
    type MagneticPotentialDifference = Real(final quantity = "MagneticPotentialDifference", final unit = "A");
    type Mass = Real(final quantity = "Mass", final unit = "kg", min = 0);
    type MassFlowRate = Real(quantity = "MassFlowRate", final unit = "kg/s");
    type MassFraction = Real(final quantity = "MassFraction", final unit = "1", min = 0, max = 1);
    type MolarDensity = Real(final quantity = "MolarDensity", final unit = "mol/m3");
    type MolarHeatCapacity = Real(final quantity = "MolarHeatCapacity", final unit = "J/(mol.K)");
    type MolarInternalEnergy = Real(final quantity = "MolarInternalEnergy", final unit = "J/mol");
    type MolarMass = Real(final quantity = "MolarMass", final unit = "kg/mol", min = 0);
    type MolarVolume = Real(final quantity = "MolarVolume", final unit = "m3/mol", min = 0);
    type MoleFraction = Real(final quantity = "MoleFraction", final unit = "1", min = 0, max = 1);
    type MomentOfInertia = Real(final quantity = "MomentOfInertia", final unit = "kg.m2");
    type Momentum = Real(final quantity = "Momentum", final unit = "kg.m/s");
    type MomentumFlux = Real(final quantity = "MomentumFlux", final unit = "N");
    type NusseltNumber = Real(final quantity = "NusseltNumber", final unit = "1");
    type Period = Time;
    type Permeability = Real(final quantity = "Permeability", final unit = "H/m");
    type Permeance = Real(final quantity = "Permeance", final unit = "H");
    type Permittivity = Real(final quantity = "Permittivity", final unit = "F/m", min = 0);
    type Position = Length;
    type Power = Real(final quantity = "Power", final unit = "W");
    type PrandtlNumber = Real(final quantity = "PrandtlNumber", final unit = "1");
    type Pressure = Real(final quantity = "Pressure", final unit = "Pa");
    type PressureSlope = Real(final quantity = "PressureSlope", final unit = "Pa/s");
    type QuadraticTemperatureCoefficientResistance = Real(final quantity = "QuadraticTemperatureCoefficientResistance",
      final unit = "1/K2");
    type Radius = Length(min = 0);
    type RatioOfSpecificHeatCapacities = Real(final quantity = "RatioOfSpecificHeatCapacities", final unit = "1");
    type Reactance = Impedance;
    type ReactivePower = Real(final quantity = "ReactivePower", final unit = "var");
    type RelativePermeability = Real(final quantity = "RelativePermeability", final unit = "1");
    type RelativePressureCoefficient = Real(final quantity = "RelativePressureCoefficient", final unit = "1/K");
    type Reluctance = Real(final quantity = "Reluctance", final unit = "H-1");
    type Resistance = Real(final quantity = "Resistance", final unit = "Ohm");
    type Resistivity = Real(final quantity = "Resistivity", final unit = "Ohm.m");
    type ReynoldsNumber = Real(final quantity = "ReynoldsNumber", final unit = "1");
    type RotationalDampingConstant = Real(final quantity = "RotationalDampingConstant", final unit = "N.m.s/rad");
    type RotationalSpringConstant = Real(final quantity = "RotationalSpringConstant", final unit = "N.m/rad");
    type SpecificEnergy = Real(final quantity = "SpecificEnergy", final unit = "J/kg");
    type SpecificEnthalpy = SpecificEnergy;
    type SpecificEntropy = Real(final quantity = "SpecificEntropy", final unit = "J/(kg.K)");
    type SpecificGibbsFreeEnergy = SpecificEnergy;
    type SpecificHeatCapacity = Real(final quantity = "SpecificHeatCapacity", final unit = "J/(kg.K)");
    type SpecificHeatCapacityAtConstantPressure = SpecificHeatCapacity;
    type SpecificInternalEnergy = SpecificEnergy;
    type SpecificVolume = Real(final quantity = "SpecificVolume", final unit = "m3/kg", min = 0);
    type SurfaceTension = Real(final quantity = "SurfaceTension", final unit = "N/m");
    type Susceptance = Conductance;
    type Temperature = ThermodynamicTemperature;
    type TemperatureDifference = Real(final quantity = "TemperatureDifference", final unit = "K");
    type TemperatureSlope = Real(final quantity = "TemperatureSlope", final unit = "K/s");
    type ThermalConductance = Real(final quantity = "ThermalConductance", final unit = "W/K");
    type ThermalConductivity = Real(final quantity = "ThermalConductivity", final unit = "W/(m.K)");
    type ThermalResistance = Real(final quantity = "ThermalResistance", final unit = "K/W");
    type ThermodynamicTemperature = Real(final quantity = "ThermodynamicTemperature",
      final unit = "K", min = 0, start = 288.15, nominal = 300);
    type Time = Real(final quantity = "Time", final unit = "s");
    type Torque = Real(final quantity = "Torque", final unit = "N.m");
    type Transconductance = Real(final quantity = "Transconductance", final unit = "A/V2");
    type TranslationalDampingConstant = Real(final quantity = "TranslationalDampingConstant", final unit = "N.s/m");
    type TranslationalSpringConstant = Real(final quantity = "TranslationalSpringConstant", final unit = "N/m");
    type Velocity = Real(final quantity = "Velocity", final unit = "m/s");
    type Voltage = ElectricPotential;
    type VoltageSlope = Real(final quantity = "VoltageSlope", final unit = "V/s");
    type Volume = Real(final quantity = "Volume", final unit = "m3");
    type VolumeFlowRate = Real(final quantity = "VolumeFlowRate", final unit = "m3/s");
    type WeberNumber = Real(final quantity = "WeberNumber", final unit = "1");
    operator record ComplexAdmittance = Complex(redeclare Conductance re, redeclare Susceptance im);
    operator record ComplexCurrent = Complex(redeclare Current re, redeclare Current im);
    operator record ComplexElectricPotential = Complex(redeclare ElectricPotential re,
      redeclare ElectricPotential im);
    operator record ComplexImpedance = Complex(redeclare Resistance re, redeclare Reactance im);
    operator record ComplexMagneticFieldStrength = Complex(redeclare MagneticFieldStrength re,
      redeclare MagneticFieldStrength im);
    operator record ComplexMagneticFlux = Complex(redeclare MagneticFlux re, redeclare MagneticFlux im);
    operator record ComplexMagneticFluxDensity = Complex(redeclare MagneticFluxDensity re,
      redeclare MagneticFluxDensity im);
    operator record ComplexMagneticPotential = Complex(redeclare MagneticPotential re,
      redeclare MagneticPotential im);
    operator record ComplexMagneticPotentialDifference = Complex(redeclare MagneticPotentialDifference re,
      redeclare MagneticPotentialDifference im);
    operator record ComplexPower = Complex(redeclare ActivePower re, redeclare ReactivePower im);
    operator record ComplexVoltage = Complex(redeclare Voltage re, redeclare Voltage im);
  end SI;

  package NonSI
    type Angle_deg = Real(final unit = "deg");
    type AngularVelocity_rpm = Real(final unit = "rev/min");
    type Area_cmPerVoltageSecond = Real(final unit = "cm2/(V.s)");
    type PerArea_cm = Real(final unit = "1/cm2");
    type Pressure_bar = Real(final unit = "bar");
    type Temperature_degC = Real(final unit = "degC");
    type Temperature_degF = Real(final unit = "degF");
    type Temperature_degRk = Real(final unit = "degRk");
    type Time_day = Real(final unit = "d");
    type Time_hour = Real(final unit = "h");
    type Time_minute = Real(final unit = "min");
    type Velocity_kmh = Real(final unit = "km/h");
    type Energy_kWh = Real(final unit = "kW.h");
    type Volume_litre = Real(final unit = "l");
    type MassFlowRate_gps = Real(final unit = "g/s");
  end NonSI;

  package Conversions
    partial function Conversion
    end Conversion;
    function to_degC
      extends Conversion;
      input SI.Temperature u;
      output NonSI.Temperature_degC y;
    algorithm
      y := u - 273.15;
      annotation(Inline = true);
    end to_degC;
    function from_degC
      extends Conversion;
      input NonSI.Temperature_degC u;
      output SI.Temperature y;
    algorithm
      y := u + 273.15;
      annotation(Inline = true);
    end from_degC;
    function to_degF
      extends Conversion;
      input SI.Temperature u;
      output NonSI.Temperature_degF y;
    algorithm
      y := (u - (273.15 - 32*5/9))/(5/9);
      annotation(Inline = true);
    end to_degF;
    function from_degF
      extends Conversion;
      input NonSI.Temperature_degF u;
      output SI.Temperature y;
    algorithm
      y := u*(5/9) + (273.15 - 32*5/9);
      annotation(Inline = true);
    end from_degF;
    function to_degRk
      extends Conversion;
      input SI.Temperature u;
      output NonSI.Temperature_degRk y;
    algorithm
      y := u/(5/9);
      annotation(Inline = true);
    end to_degRk;
    function from_degRk
      extends Conversion;
      input NonSI.Temperature_degRk u;
      output SI.Temperature y;
    algorithm
      y := u*(5/9);
      annotation(Inline = true);
    end from_degRk;
    function to_deg
      extends Conversion;
      input SI.Angle u;
      output NonSI.Angle_deg y;
    algorithm
      y := u/(Modelica.Constants.pi/180);
      annotation(Inline = true);
    end to_deg;
    function from_deg
      extends Conversion;
      input NonSI.Angle_deg u;
      output SI.Angle y;
    algorithm
      y := u*(Modelica.Constants.pi/180);
      annotation(Inline = true);
    end from_deg;
    function to_rpm
      extends Conversion;
      input SI.AngularVelocity u;
      output NonSI.AngularVelocity_rpm y;
    algorithm
      y := u/(Modelica.Constants.pi/30);
      annotation(Inline = true);
    end to_rpm;
    function from_rpm
      extends Conversion;
      input NonSI.AngularVelocity_rpm u;
      output SI.AngularVelocity y;
    algorithm
      y := u*(Modelica.Constants.pi/30);
      annotation(Inline = true);
    end from_rpm;
    function to_bar
      extends Conversion;
      input SI.Pressure u;
      output NonSI.Pressure_bar y;
    algorithm
      y := u/1e5;
      annotation(Inline = true);
    end to_bar;
    function from_bar
      extends Conversion;
      input NonSI.Pressure_bar u;
      output SI.Pressure y;
    algorithm
      y := u*1e5;
      annotation(Inline = true);
    end from_bar;
    function to_kmh
      extends Conversion;
      input SI.Velocity u;
      output NonSI.Velocity_kmh y;
    algorithm
      y := u/(1/3.6);
      annotation(Inline = true);
    end to_kmh;
    function from_kmh
      extends Conversion;
      input NonSI.Velocity_kmh u;
      output SI.Velocity y;
    algorithm
      y := u*(1/3.6);
      annotation(Inline = true);
    end from_kmh;
    function to_day
      extends Conversion;
      input SI.Time u;
      output NonSI.Time_day y;
    algorithm
      y := u/86400;
      annotation(Inline = true);
    end to_day;
    function from_day
      extends Conversion;
      input NonSI.Time_day u;
      output SI.Time y;
    algorithm
      y := u*86400;
      annotation(Inline = true);
    end from_day;
    function to_hour
      extends Conversion;
      input SI.Time u;
      output NonSI.Time_hour y;
    algorithm
      y := u/3600;
      annotation(Inline = true);
    end to_hour;
    function from_hour
      extends Conversion;
      input NonSI.Time_hour u;
      output SI.Time y;
    algorithm
      y := u*3600;
      annotation(Inline = true);
    end from_hour;
    function to_minute
      extends Conversion;
      input SI.Time u;
      output NonSI.Time_minute y;
    algorithm
      y := u/60;
      annotation(Inline = true);
    end to_minute;
    function from_minute
      extends Conversion;
      input NonSI.Time_minute u;
      output SI.Time y;
    algorithm
      y := u*60;
      annotation(Inline = true);
    end from_minute;
    function to_kWh
      extends Conversion;
      input SI.Energy u;
      output NonSI.Energy_kWh y;
    algorithm
      y := u/3.6e6;
      annotation(Inline = true);
    end to_kWh;
    function from_kWh
      extends Conversion;
      input NonSI.Energy_kWh u;
      output SI.Energy y;
    algorithm
      y := u*3.6e6;
      annotation(Inline = true);
    end from_kWh;
    function to_litre
      extends Conversion;
      input SI.Volume u;
      output NonSI.Volume_litre y;
    algorithm
      y := u/1e-3;
      annotation(Inline = true);
    end to_litre;
    function from_litre
      extends Conversion;
      input NonSI.Volume_litre u;
      output SI.Volume y;
    algorithm
      y := u*1e-3;
      annotation(Inline = true);
    end from_litre;
    function to_gps
      extends Conversion;
      input SI.MassFlowRate u;
      output NonSI.MassFlowRate_gps y;
    algorithm
      y := u/1e-3;
      annotation(Inline = true);
    end to_gps;
    function from_gps
      extends Conversion;
      input NonSI.MassFlowRate_gps u;
      output SI.MassFlowRate y;
    algorithm
      y := u*1e-3;
      annotation(Inline = true);
    end from_gps;
    function to_unit1
      extends Conversion;
      input Real r;
      output Real result(unit = "1");
    algorithm
      result := r;
      annotation(Inline = true);
    end to_unit1;
  end Conversions;
end Units;
